import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Stream } from 'node:stream';

/** Learns a process group on descriptor 3, and kills it unless it is told `over` before its stdin ends. */
const program = 'read -r group <&3 || exit; read -r word; [ "$word" = over ] || kill -s KILL -- "-$group"';

/** Says its number on descriptor 3, and becomes what its arguments name, under the same number. In a subshell: nobody may listen any more. */
const registering = '(echo $$ >&3) 2>/dev/null; exec 3>&-; exec "$@"';

/**
 * A small process that outlives the launcher, however that ends, and then kills a worker with everything that it started. Node scripts have a thread
 * for that (preload/); other programs do not know what a launcher is.
 *
 * It is started first, and the worker makes itself known before it becomes the program: at no moment is there a program without a guard.
 */
export class Guard {
  /** Descriptor 3 of the worker. */
  readonly registration: Stream;
  readonly #process;
  readonly #ended: Promise<unknown>;

  constructor() {
    // In a session of its own: a Ctrl-C is not meant for it. With an empty environment it holds up nobody who looks for what a job has left.
    this.#process = spawn('/bin/sh', ['-c', program], {
      env: {},
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
    });
    this.registration = this.#process.stdio[3]!;
    // Where none can be started, or it was killed, workers are what they are under torchrun.
    this.#process.on('error', () => undefined);
    this.#process.stdin!.on('error', () => undefined);
    this.registration.on('error', () => undefined);
    this.#ended = Promise.race([once(this.#process, 'exit'), once(this.#process, 'error')]).catch(
      () => undefined,
    );
  }

  /** What is to be started in the place of a program, as leader of a process group. */
  static watching(command: string, args: readonly string[]): [string, string[]] {
    return ['/bin/sh', ['-c', registering, 'sh', command, ...args]];
  }

  /** The group has ended: its number may soon be another's. */
  async release(): Promise<void> {
    this.#process.stdin!.end('over\n');
    this.#process.stdio[3]!.destroy();
    await this.#ended;
  }
}
