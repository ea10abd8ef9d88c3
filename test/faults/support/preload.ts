import { spawnSync } from 'node:child_process';
import { closeSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../support/environment.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Compiles `test/faults/preload/<name>.c`. Returns the path of the library, for LD_PRELOAD. Call it at the top level. */
export function compilePreload(name: string): string {
  const library = join(temporaryFolder(), `${name}.so`);
  const source = join(repository, 'test/faults/preload', `${name}.c`);
  const args = [
    '-shared',
    '-fPIC',
    '-O1',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-o',
    library,
    source,
    '-ldl',
    '-pthread',
  ];
  const { status, stderr, error } = spawnSync(process.env['CC'] ?? 'cc', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`compiling ${source} failed: ${error?.message ?? stderr}`);
  return library;
}

/** Why this machine cannot load a library before others; undefined if it can. */
export function preloadProblem(): string | undefined {
  if (process.platform !== 'linux') return `LD_PRELOAD is Linux's, this is ${process.platform}`;
  const { error } = spawnSync(process.env['CC'] ?? 'cc', ['--version']);
  return error && `there is no C compiler: ${error.message}`;
}

const nanosecondsOfMs = 1_000_000n;

/** The wall clock of the processes with the environment `env`. Their monotonic clock is that of the machine. */
export class WallClock {
  readonly env: Readonly<Record<string, string>>;
  readonly #path: string;
  #changedByMs = 0;

  /** @param library `compilePreload('clock')` */
  constructor(library: string, path: string) {
    this.#path = path;
    writeFileSync(path, Buffer.alloc(16));
    this.env = { LD_PRELOAD: library, FAULT_CLOCK: path };
  }

  /** Sets the clock forward by so many milliseconds, or back, again with each call. */
  change(byMs: number): void {
    this.#changedByMs += byMs;
    this.#write(this.#changedByMs, 0);
  }

  /** Sets the clock to this time, in milliseconds since the epoch. */
  changeTo(wallMs: number): void {
    this.#changedByMs = 0;
    this.change(wallMs - Date.now());
  }

  /** Stops the clock at this time, in milliseconds since the epoch. */
  freeze(atMs: number): void {
    this.#write(0, atMs);
  }

  #write(byMs: number, frozenAtMs: number): void {
    const words = Buffer.alloc(16);
    words.writeBigInt64LE(BigInt(Math.round(byMs)) * nanosecondsOfMs, 0);
    words.writeBigInt64LE(BigInt(Math.round(frozenAtMs)) * nanosecondsOfMs, 8);
    const file = openSync(this.#path, 'r+');
    writeSync(file, words, 0, words.length, 0);
    closeSync(file);
  }
}

/** The names that the processes with the environment `env` resolve. Other names are resolved as usual. */
export class Names {
  readonly env: Readonly<Record<string, string>>;
  readonly #path: string;

  /** @param library `compilePreload('names')` */
  constructor(library: string, path: string) {
    this.#path = path;
    this.resolve({});
    this.env = { LD_PRELOAD: library, FAULT_NAMES: path };
  }

  /** Replaces all names by these, with their addresses in order. A name without addresses does not resolve. */
  resolve(names: Readonly<Record<string, readonly string[]>>): void {
    const lines = Object.entries(names).map(([name, addresses]) => `${[name, ...addresses].join(' ')}\n`);
    // Renamed, so that a lookup reads all names or none.
    writeFileSync(`${this.#path}.new`, lines.join(''));
    renameSync(`${this.#path}.new`, this.#path);
  }
}
