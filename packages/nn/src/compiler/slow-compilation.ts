import { Worker } from 'node:worker_threads';
import { describeType } from '../graph/node.ts';
import type { ProgramShape } from './churn.ts';

/** Milliseconds without a word. */
const patience = 2000;

/** Operators, of the graph that the caller wrote. Fewer are compiled in much less than two seconds, and a thread that waits for it would cost more. */
const worthWatching = 300;

/** Compiles something, and prints one line on what it is when that takes more than 2 s. */
export async function announcedIfSlow<T>(
  what: string,
  shape: ProgramShape,
  compile: () => Promise<T>,
): Promise<T> {
  const line = `ringrun: compiling ${describeCompilation(what, shape)}\n`;
  if (shape.operators >= worthWatching) return await whileWatched(line, patience, 2, compile);
  const startedAt = performance.now();
  const compiled = await compile();
  if (performance.now() - startedAt > patience) process.stderr.write(line);
  return compiled;
}

/**
 * Runs something that may block this thread, as onnxruntime does when it makes a session: another thread waits, and writes the line when the time is over.
 *
 * @param afterMs how long it waits
 * @param fd where it writes
 */
export async function whileWatched<T>(
  line: string,
  afterMs: number,
  fd: number,
  run: () => Promise<T>,
): Promise<T> {
  const done = new Int32Array(new SharedArrayBuffer(4));
  // Nothing of this thread's environment is needed, such as a loader of TypeScript.
  const worker = new Worker(watch, {
    eval: true,
    execArgv: [],
    env: {},
    workerData: { done, line, afterMs, fd },
  });
  worker.unref();
  // Training does not end because a line could not be written.
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
export function describeCompilation(what: string, { operators, inputs }: ProgramShape): string {
  const counts = new Map<string, number>();
  for (const input of inputs) counts.set(describeType(input), (counts.get(describeType(input)) ?? 0) + 1);
  const types = [...counts].map(([type, count]) => (count === 1 ? type : `${count} × ${type}`));
  const shown = types.slice(0, mostShown).join(', ');
  const more = types.length > mostShown ? ` and ${types.length - mostShown} more shapes` : '';
  return (
    `${what}, ${operators.toLocaleString('en-US')} operators, from ${shown || 'parameters alone'}${more}. ` +
    'This happens once for each set of shapes.'
  );
}

const mostShown = 4;
