import { closeSync, mkdtempSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeFolderSync, openFilesProblem } from '@ringrun/core';
import { figuresFileName } from '../worker/rank-figures.ts';
import { CommandError } from '../command-error.ts';
import type { LogOptions } from '../options/launch-options.ts';
import type { WorkerOutput } from './worker-output.ts';
import { ConsoleStream } from './console-stream.ts';
import { destinationOf, linePrefix, needsFiles } from './destinations.ts';
import type { WorkerRanks, StreamName } from './destinations.ts';
import { Tail } from './tail.ts';

/** A worker of this node, as the log files and the console name it. */
export interface LoggedWorker extends WorkerRanks {
  localRank: number;
}

/** The output of the workers of this node in one run: a folder per round and worker, as under torchrun. */
export class RunLogs {
  /** `<log-dir>/<run id>_<random>`; undefined if no output is written to files. */
  readonly folder: string | undefined;
  readonly #options: LogOptions;
  readonly #console = { stdout: new ConsoleStream(1), stderr: new ConsoleStream(2) };

  /**
   * @param count Workers on this node.
   * @throws CommandError if the folder cannot be created.
   */
  constructor(options: LogOptions, runId: string, count: number) {
    this.#options = options;
    this.folder = needsFiles(options, count) ? makeRunFolder(options.directory, runId) : undefined;
  }

  /** Opens the files of the workers of one round, in `attempt_<restartCount>` as under torchrun. */
  open(restartCount: number, workers: readonly LoggedWorker[]): RoundLogs {
    const folder = this.folder === undefined ? undefined : join(this.folder, `attempt_${restartCount}`);
    return new RoundLogs(this.#options, this.#console, folder, workers);
  }
}

/** The output of the workers of one round. */
export class RoundLogs {
  readonly #options: LogOptions;
  readonly #console: Readonly<Record<StreamName, ConsoleStream>>;
  readonly #folder: string | undefined;
  readonly #outputs: ReadonlyMap<number, WorkerOutput>;
  readonly #tails: Tail[] = [];
  readonly #descriptors: number[] = [];

  constructor(
    options: LogOptions,
    console: Readonly<Record<StreamName, ConsoleStream>>,
    folder: string | undefined,
    workers: readonly LoggedWorker[],
  ) {
    this.#options = options;
    this.#console = console;
    this.#folder = folder;
    const open = (worker: LoggedWorker, stream: StreamName) => this.#open(worker, stream);
    this.#outputs = new Map(
      workers.map((worker) => [
        worker.localRank,
        { stdout: open(worker, 'stdout'), stderr: open(worker, 'stderr') },
      ]),
    );
  }

  /** The stdout and stderr with which the worker `localRank` is started. */
  outputOf(localRank: number): WorkerOutput {
    return this.#outputs.get(localRank)!;
  }

  /** The file with the worker's stderr, if the console does not show it. */
  hiddenOutputOf(localRank: number): string | undefined {
    return destinationOf(this.#options, localRank, 'stderr') === 'file'
      ? this.#path(localRank, 'stderr')
      : undefined;
  }

  /** The file for the worker's figures, in the folder of its output; undefined if no output is written to files. */
  figuresFileOf(localRank: number): string | undefined {
    return this.#folder && join(this.#folder, String(localRank), figuresFileName);
  }

  /** Call after all these processes have exited. Resolves when the console shows all output. Never rejects. */
  async finish(): Promise<void> {
    await Promise.all(this.#tails.map((tail) => tail.finish()));
    for (const descriptor of this.#descriptors.splice(0)) closeSync(descriptor);
  }

  #open(worker: LoggedWorker, stream: StreamName): WorkerOutput[StreamName] {
    const destination = destinationOf(this.#options, worker.localRank, stream);
    if (destination === 'console') return 'inherit';
    if (destination === 'nowhere') return 'ignore';
    const path = this.#path(worker.localRank, stream);
    const descriptor = openForOutput(path);
    this.#descriptors.push(descriptor);
    if (destination === 'file and console')
      this.#tails.push(new Tail(path, linePrefix(worker), this.#console[stream]));
    return descriptor;
  }

  #path(localRank: number, stream: StreamName): string {
    return join(this.#folder!, String(localRank), `${stream}.log`);
  }
}

/** Characters of the run id in the name of its folder: file systems allow names of 255 bytes. */
const maxNameCharacters = 128;

function makeRunFolder(directory: string | undefined, runId: string): string {
  const parent = directory === undefined ? tmpdir() : resolve(directory);
  // The user chooses the id; the beginning of it becomes part of a file name.
  const name = `${directory === undefined ? 'ringrun_' : ''}${runId.slice(0, maxNameCharacters).replace(/[^\w.-]/g, '-')}_`;
  try {
    makeFolderSync(parent);
    return mkdtempSync(join(parent, name));
  } catch (error) {
    throw notCreated(`a folder for the output of the workers in ${parent}`, error);
  }
}

function openForOutput(path: string): number {
  try {
    makeFolderSync(join(path, '..'));
    return openSync(path, 'a');
  } catch (error) {
    throw notCreated('a file for the output of a worker', error);
  }
}

function notCreated(what: string, error: unknown): CommandError {
  const why = openFilesProblem(error) ?? `${(error as Error).message}. Pass another --log-dir`;
  return new CommandError(1, `Cannot create ${what}: ${why}.`, { cause: error });
}
