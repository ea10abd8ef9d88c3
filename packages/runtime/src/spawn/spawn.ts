import { spawn as spawnProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Script } from 'node:vm';
import { InvalidArgumentError, otherRuntimeProblem, RingrunError } from '@ringrun/core';
import { CallFiles, type Called, type Outcome } from './call.ts';

/** A function of a module, which every rank imports. */
export interface SpawnModule {
  /** URL or path, such as `new URL('./train.ts', import.meta.url)`. A relative path is in the current folder. */
  readonly module: URL | string;
  /** The name of its export. Default: `'default'`. */
  readonly function?: string;
}

/** Options of {@link spawn}. */
export interface SpawnOptions<Args extends readonly unknown[] = readonly unknown[]> {
  /** Number of ranks, all on this host; `'auto'`: one for each GPU, or each processor core without a GPU. Default: 1. */
  readonly nproc?: number | 'auto' | 'cpu' | 'gpu';
  /** Arguments of the function, which are cloned. Default: none. */
  readonly args?: Args;
  /** Variables of the ranks beside those of this process. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
  /** Other options of the launcher, such as `['--max-restarts', '2', '--dashboard']`. Default: none. */
  readonly launcherOptions?: readonly string[];
  /** Ends the ranks when it is aborted. Default: never. */
  readonly signal?: AbortSignal;
}

/**
 * Calls a function in several processes, the ranks of a job on this host, from inside a program or notebook: what
 * `torch.multiprocessing.spawn` and Accelerate's `notebook_launcher` do. Each rank calls `initProcessGroup()` in the function. The
 * ranks' output appears as that of the launcher does.
 *
 *     const [loss] = await spawn({ module: new URL('./train.ts', import.meta.url) }, { nproc: 2, args: [{ epochs: 3 }] });
 *
 * A function without a module is sent as its source: it can use its arguments and what it imports with `import()`, but no variable
 * around it.
 *
 * @returns what the function returned on each rank, cloned
 * @throws RingrunError `ERR_SPAWN_FAILED` if a rank fails: the error of the first one is its cause
 * @throws InvalidArgumentError if the function or its arguments cannot be sent; nothing is started then
 */
export async function spawn<Args extends readonly unknown[], Result>(
  called: ((...args: Args) => Result | Promise<Result>) | SpawnModule,
  options: SpawnOptions<Args> = {},
): Promise<Result[]> {
  const problem = otherRuntimeProblem();
  if (problem !== undefined) throw new RingrunError('ERR_RUNTIME', `spawn: ${problem}`);
  const { nproc = 1, args = [], env = {}, launcherOptions = [], signal } = options;
  if (typeof nproc === 'number' && !(Number.isInteger(nproc) && nproc > 0)) {
    throw new InvalidArgumentError(
      `spawn: nproc is ${nproc}, expected a number of ranks from 1 on, or 'auto', 'cpu' or 'gpu'.`,
    );
  }
  signal?.throwIfAborted();
  const what = calledOf(called);
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-spawn-'));
  try {
    const files = new CallFiles(folder);
    writeCall(files, what, args);
    const cause = join(folder, 'cause');
    writeFileSync(cause, '');
    const launcher = ['--standalone', '--nproc', String(nproc), ...launcherOptions, spawnedScript(), folder];
    const ended = await run(launcher, { ...env, RINGRUN_TERMINATION_LOG: cause }, signal);
    signal?.throwIfAborted();
    const outcomes = files.readOutcomes();
    if (ended !== '') throw failure(` (${ended}): ${readFileSync(cause, 'utf8').trim()}`, outcomes);
    return resultsOf(outcomes) as Result[];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function calledOf(called: unknown): Called {
  if (typeof called === 'function') return calledOfFunction(called);
  const { module, function: name = 'default' } = (called ?? {}) as Partial<SpawnModule>;
  if (module instanceof URL || (typeof module === 'string' && URL.canParse(module))) {
    return { module: String(module), name };
  }
  if (typeof module === 'string') return { module: pathToFileURL(resolve(module)).href, name };
  throw new InvalidArgumentError(
    `spawn: expected a function, or { module: URL or path, function: name of an export }, got ${typeof called}.`,
  );
}

function calledOfFunction(called: { toString: () => string; name: string }): Called {
  const source = called.toString();
  try {
    new Script(`(${source})`);
  } catch {
    throw new InvalidArgumentError(
      `spawn: the source of the function ${called.name || '(without a name)'} cannot be sent: it is native, bound or a method. Pass an arrow function, or { module, function }.`,
    );
  }
  return { source, from: process.argv[1] ?? join(process.cwd(), 'spawn') };
}

function writeCall(files: CallFiles, called: Called, args: readonly unknown[]): void {
  try {
    files.writeCall({ called, args });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(
      `spawn: args cannot be sent to the ranks: ${reason} Pass plain data, such as numbers, typed arrays and objects of them.`,
      { cause: error },
    );
  }
}

function spawnedScript(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./spawned.${extension}`, import.meta.url));
}

/** Runs the launcher to its end. Returns how it failed; '' if it did not. */
function run(
  options: readonly string[],
  variables: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<string> {
  const command = fileURLToPath(new URL('../../bin/ringrun.js', import.meta.url));
  // Through this process's streams, which a notebook replaces.
  const launcher = spawnProcess(process.execPath, [command, ...options], {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  launcher.stdout.on('data', (text: Buffer) => process.stdout.write(text));
  launcher.stderr.on('data', (text: Buffer) => process.stderr.write(text));
  const end = () => launcher.kill('SIGTERM');
  signal?.addEventListener('abort', end, { once: true });
  return new Promise<string>((ended, failed) => {
    launcher.once('error', failed);
    launcher.once('close', (code, killedBy) => {
      ended(code === 0 ? '' : killedBy === null ? `exit code ${code}` : killedBy);
    });
  }).finally(() => signal?.removeEventListener('abort', end));
}

function resultsOf(outcomes: readonly (Outcome | undefined)[]): unknown[] {
  const size = outcomes.find((outcome) => outcome !== undefined)?.size ?? 1;
  return Array.from({ length: size }, (_, rank) => {
    const outcome = outcomes[rank];
    if (outcome && 'result' in outcome) return outcome.result;
    throw failure(`: rank ${rank} ended before the function returned, as with process.exit(0)`, []);
  });
}

/** @param outcomes sparse */
function failure(how: string, outcomes: readonly Outcome[]): RingrunError {
  const [first] = Object.values(outcomes)
    .filter((outcome) => 'error' in outcome)
    .sort((a, b) => a.at - b.at);
  const cause = outcomes.length === 0 ? undefined : { cause: first.error };
  return new RingrunError('ERR_SPAWN_FAILED', `spawn: the ranks failed${how}`, cause);
}
