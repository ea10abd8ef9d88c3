// `ringrun top`: shows the figures of a running job on a terminal.
import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError } from '@ringrun/core';
import { CommandError } from '../../command-error.ts';
import type { Status } from '../../dashboard/status.ts';
import { tableOf } from '../../dashboard/table.ts';
import { parseTopOptions } from './options.ts';
import type { TopOptions } from './options.ts';
import { Screen } from './screen.ts';
import { sourceOf, tokenOf } from './sources.ts';
import type { Source } from './sources.ts';

/** Milliseconds to wait for the first figures of a starting job. */
const firstFiguresMs = 60_000;

/** q, Q, and Ctrl-C and Ctrl-D in raw mode. */
const endingBytes: ReadonlySet<number> = new Set([0x71, 0x51, 0x03, 0x04]);

/** Runs the command and returns the exit code: 0 once the job has ended, 1 if no job is found. */
export async function runTop(argv: readonly string[]): Promise<number> {
  const options = parseTopOptions(argv);
  try {
    if (options.token) {
      process.stdout.write(`${tokenOf(options.secretFile)}\n`);
      return 0;
    }
    const source = sourceOf(options);
    return options.once ? await printOnce(source) : await watch(source, options);
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw new CommandError(2, error.message, { cause: error });
    throw error;
  }
}

async function printOnce(source: Source): Promise<number> {
  const status = await source.read();
  if (status === undefined) throw noJob(source);
  print(status);
  return 0;
}

async function watch(source: Source, { intervalMs }: TopOptions): Promise<number> {
  const ended = endOfInput();
  const screen = process.stdout.isTTY ? new Screen(process.stdout) : undefined;
  const startedAt = performance.now();
  let last: Status | undefined;
  try {
    while (!ended.signal.aborted) {
      const status = await source.read();
      if (status === undefined && last !== undefined) break;
      if (status === undefined && performance.now() - startedAt > firstFiguresMs) throw noJob(source);
      if (screen) screen.draw(linesOf(status, source, screen.rows));
      else if (status !== undefined) print(status);
      last = status;
      if (status?.hasEnded === true) break;
      await delay(intervalMs, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  } finally {
    ended.stop();
    screen?.close();
  }
  // The alternate screen was closed: leave the last figures on the terminal.
  if (screen && last !== undefined) print(last);
  if (!ended.signal.aborted) process.stdout.write('ringrun top: the job has ended.\n');
  return 0;
}

function linesOf(status: Status | undefined, { where }: Source, rows: number): string[] {
  return status === undefined
    ? [`ringrun top: waiting for the first figures of a job ${where}. Press q to end.`]
    : [...tableOf(status, rows - 1), '', 'Press q to end.'].slice(0, rows);
}

function print(status: Status): void {
  process.stdout.write(`${tableOf(status).join('\n')}\n\n`);
}

function noJob({ where, hint }: Source): CommandError {
  return new CommandError(1, `top: expected a running job ${where}, got no figures. ${hint}.`);
}

/** Aborts on q, on Ctrl-C and on signals that end a program. */
function endOfInput(): { signal: AbortSignal; stop: () => void } {
  const controller = new AbortController();
  const end = (): void => {
    controller.abort();
  };
  const { stdin } = process;
  const onInput = (typed: Buffer): void => {
    if (typed.some((byte) => endingBytes.has(byte))) end();
  };
  const isRaw = stdin.isTTY && process.stdout.isTTY;
  if (isRaw) stdin.setRawMode(true).on('data', onInput).resume();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end);
  const stop = (): void => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.removeListener(signal, end);
    if (isRaw) stdin.setRawMode(false).off('data', onInput).pause();
  };
  return { signal: controller.signal, stop };
}
