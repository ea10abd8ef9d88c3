import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Kills the process group $0 unless it is told `over` before its stdin ends. */
const program = 'read -r word; [ "$word" = over ] || kill -s KILL -- "-$0"';

/**
 * A small process that outlives the launcher, however that ends, and then kills a worker with everything that it started. Node scripts have a thread
 * for that (preload/); other programs do not know what a launcher is.
 */
export class Guard {
  readonly #process;
  readonly #ended: Promise<unknown>;

  constructor(group: number) {
    // In a session of its own: a Ctrl-C is not meant for it. With an empty environment it holds up nobody who looks for what a job has left.
    this.#process = spawn('/bin/sh', ['-c', program, String(group)], {
      env: {},
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // Where none can be started, or it was killed, workers are what they are under torchrun.
    this.#process.on('error', () => undefined);
    this.#process.stdin.on('error', () => undefined);
    this.#ended = Promise.race([once(this.#process, 'exit'), once(this.#process, 'error')]).catch(
      () => undefined,
    );
  }

  /** The group has ended: its number may soon be another's. */
  async release(): Promise<void> {
    this.#process.stdin.end('over\n');
    await this.#ended;
  }
}
