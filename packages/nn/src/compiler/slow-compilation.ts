import { Worker } from 'node:worker_threads';
import { describeType } from '../graph/node.ts';
import type { ProgramSummary } from './recompilation-warning.ts';

/** Milliseconds after which a compilation is reported. */
const slowAfterMs = 2000;

/** Smaller graphs compile in much less than 2 s, so a watchdog thread would cost more than it gains. */
const minWatchedOperators = 300;

/** Compiles a graph and prints one line on stderr if that takes more than 2 s. */
export async function warnIfSlow<T>(
  what: string,
  shape: ProgramSummary,
  compile: () => Promise<T>,
): Promise<T> {
  const line = `ringrun: compiling ${describeCompilation(what, shape)}\n`;
  if (shape.operators >= minWatchedOperators) return await withWatchdog(line, slowAfterMs, 2, compile);
  const startedAt = performance.now();
  const compiled = await compile();
  if (performance.now() - startedAt > slowAfterMs) process.stderr.write(line);
  return compiled;
}

/**
 * Writes a line from another thread if `run` takes longer than `afterMs`, even if `run` blocks this thread, as onnxruntime
 * does when it creates a session.
 *
 * @param fd file descriptor of the line
 */
export async function withWatchdog<T>(
  line: string,
  afterMs: number,
  fd: number,
  run: () => Promise<T>,
): Promise<T> {
  const done = new Int32Array(new SharedArrayBuffer(4));
  // Without this thread's TypeScript loader and environment, which would delay the start.
  const worker = new Worker(watch, {
    eval: true,
    execArgv: [],
    env: {},
    workerData: { done, line, afterMs, fd },
  });
  worker.unref();
  // A line that cannot be written must not end the training.
  worker.on('error', () => undefined);
  try {
    return await run();
  } finally {
    Atomics.store(done, 0, 1);
    Atomics.notify(done, 0);
  }
}

const watch = `
const { workerData: { done, line, afterMs, fd } } = require('node:worker_threads');
if (Atomics.wait(done, 0, 0, afterMs) === 'timed-out') require('node:fs').writeSync(fd, line);
`;

/** `the forward pass, 2,050 operators, from 128 × float32[8,16], int64[8]. …` */
export function describeCompilation(what: string, { operators, inputs }: ProgramSummary): string {
  const counts = new Map<string, number>();
  for (const input of inputs) counts.set(describeType(input), (counts.get(describeType(input)) ?? 0) + 1);
  const types = [...counts].map(([type, count]) => (count === 1 ? type : `${count} × ${type}`));
  const shown = types.slice(0, maxShownTypes).join(', ');
  const more = types.length > maxShownTypes ? ` and ${types.length - maxShownTypes} more shapes` : '';
  return (
    `${what}, ${operators.toLocaleString('en-US')} operators, from ${shown || 'parameters alone'}${more}. ` +
    'This happens once for each set of shapes.'
  );
}

const maxShownTypes = 4;
