import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Stream } from 'node:stream';
import { leaseExpired } from '../worker/launcher-pipe.ts';

/**
 * Reads a process group from descriptor 3. Then kills it unless it reads `over` before its stdin closes, or in time: a
 * line with a number is the time in seconds within which the next line must arrive. Without the program `timeout`,
 * there is no such limit.
 */
const program = `
read -r group <&3 || exit
limit=
command -v timeout >/dev/null || no_limit=yes
while :; do
  if [ -z "$limit" ] || [ -n "$no_limit" ]; then read -r word || word=
  else
    word=$(timeout "$limit" sh -c 'read -r word && echo "$word"')
    [ $? != 124 ] || { echo "ringrun: rank $1 (pid $group) ends because $2" >&2; word=; }
  fi
  case $word in
    over) exit ;;
    '') kill -s KILL -- "-$group"; exit ;;
    *) limit=$word ;;
  esac
done`;

/** Writes its pid to descriptor 3, then execs its arguments (same pid). In a subshell, as the pipe may be closed. */
const registering = '(echo $$ >&3) 2>/dev/null; exec 3>&-; exec "$@"';

/**
 * A small process that kills a worker and its child processes when the launcher ends, even by SIGKILL. Node.js scripts
 * use a thread instead (`worker/`); other programs need this process.
 *
 * The guard starts before the worker, and the worker registers before it execs the program, so that a guard always
 * exists.
 */
export class Guard {
  /** Descriptor 3 of the worker. */
  readonly registration: Stream;
  readonly #process;
  readonly #ended: Promise<unknown>;

  constructor(rank: number) {
    // In its own session, so that Ctrl-C does not end it. Empty environment: tools that search for processes of the job
    // by their variables do not find it.
    this.#process = spawn('/bin/sh', ['-c', program, 'sh', String(rank), leaseExpired(process.pid)], {
      env: {},
      detached: true,
      stdio: ['pipe', 'ignore', 'inherit', 'pipe'],
    });
    this.registration = this.#process.stdio[3]!;
    // Without a guard, workers survive a killed launcher, as under torchrun.
    this.#process.on('error', () => undefined);
    this.#process.stdin!.on('error', () => undefined);
    this.registration.on('error', () => undefined);
    this.#ended = Promise.race([once(this.#process, 'exit'), once(this.#process, 'error')]).catch(
      () => undefined,
    );
  }

  /** Wraps a program so that it registers with the guard; start it as the leader of a process group. */
  static watching(command: string, args: readonly string[]): [string, string[]] {
    return ['/bin/sh', ['-c', registering, 'sh', command, ...args]];
  }

  /** The group is killed if this is not called again within `withinMs`. */
  mustRenewWithin(withinMs: number): void {
    this.#process.stdin!.write(`${Math.max(0.001, withinMs / 1000).toFixed(3)}\n`);
  }

  /** Call after the group has ended: its number may be reused. */
  async release(): Promise<void> {
    this.#process.stdin!.end('over\n');
    this.#process.stdio[3]!.destroy();
    await this.#ended;
  }
}
