import { formatDuration } from '@ringrun/core';
import type { SupervisedWorker } from './worker.ts';

/** Milliseconds until the first line. Each later one waits twice as long. */
const firstMs = 30_000;

const maxNamed = 8;

/** Prints that workers still run long after the first one has finished: the launcher waits for them without a limit. */
export class StragglerReport {
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: readonly SupervisedWorker[] = [];

  /** A worker has ended; these still run. */
  report(running: readonly SupervisedWorker[]): void {
    this.#running = running;
    this.#since ??= performance.now();
    if (running.length === 0) this.stop();
    else if (this.#timer === undefined) this.#printAfter(firstMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #printAfter(ms: number): void {
    this.#timer = setTimeout(() => {
      process.stderr.write(
        `ringrun: ${describeStragglers(this.#running, performance.now() - this.#since!)}\n`,
      );
      this.#printAfter(2 * ms);
    }, ms).unref();
  }
}

/** For example, `waiting for rank 1 (pid 7), which still runs 30 s after another rank has finished`. */
export function describeStragglers(
  running: readonly Pick<SupervisedWorker, 'rank' | 'pid' | 'isStopped'>[],
  forMs: number,
): string {
  const named = running.slice(0, maxNamed).map((worker) => {
    const state = worker.isStopped() ? ', stopped by a signal' : '';
    return `rank ${worker.rank} (pid ${worker.pid}${state})`;
  });
  const more = running.length > maxNamed ? [`${running.length - maxNamed} more`] : [];
  const verb = running.length === 1 ? 'runs' : 'run';
  return `waiting for ${[...named, ...more].join(', ')}, which still ${verb} ${formatDuration(forMs)} after another rank finished`;
}
