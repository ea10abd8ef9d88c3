import { existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { problemOfOwner } from '../user-cache.js';
import { builtInCache, builtInPackage, compileOnce } from './compile.ts';
import { otherSystem, otherSystemProblem } from './other-system.ts';
import { platformName, platformPackage } from './platform.ts';

/** No binary of the addon could be loaded or compiled. The message lists all attempts, with reasons. */
export class NativeUnavailableError extends Error {
  readonly code = 'ERR_NATIVE_UNAVAILABLE';

  constructor(attempts: readonly Attempt[]) {
    super(otherSystemProblem() ?? messageOf(attempts));
    this.name = 'NativeUnavailableError';
  }
}

interface Attempt {
  what: string;
  reason: string;
}

function messageOf(attempts: readonly Attempt[]): string {
  const list = attempts.map(({ what, reason }) => `  ${what}: ${reason.replaceAll('\n', '\n    ')}`);
  return [
    `ringrun's native addon is not available for ${platformName()}. Tried:`,
    ...list,
    `Install the binary for this platform: npm install ${platformPackage()} (on x64 and arm64 Linux and arm64 macOS npm`,
    'does so by itself, unless optional dependencies are omitted or node_modules was copied from another platform).',
    'Or install a C++17 compiler, and run "npx ringrun build-native":',
    '  apt-get install g++            Debian, Ubuntu',
    '  apk add g++ linux-headers      Alpine',
    '  xcode-select --install         macOS',
    'Or set RINGRUN_NATIVE to the path of a binary.',
  ].join('\n');
}

const require = createRequire(import.meta.url);

/**
 * Loads the addon from the first of these that can be loaded: RINGRUN_NATIVE (if set, nothing else is tried), a binary compiled
 * on this host earlier, the platform's package, a binary compiled now.
 */
export function loadBinding(): unknown {
  if (otherSystem() !== undefined) throw new NativeUnavailableError([]);
  const attempts: Attempt[] = [];
  const seen = new Map<string, number>();
  const built = loadBuilt(attempts, seen);
  if (built !== undefined) return built;
  if (process.env['RINGRUN_NATIVE']) throw new NativeUnavailableError(attempts);
  const compiled = compileOnce((binary) => seen.get(binary) ?? 0);
  if ('problem' in compiled) attempts.push({ what: 'compiling it', reason: compiled.problem });
  const loaded = 'binary' in compiled ? load(fileCandidate(compiled.binary), attempts, seen) : undefined;
  if (loaded !== undefined) return loaded;
  throw new NativeUnavailableError(attempts);
}

/** Like `loadBinding`, but compiles nothing: undefined if no place has a binary that can be loaded. */
export function loadBuilt(attempts: Attempt[] = [], seen = new Map<string, number>()): unknown {
  const named = process.env['RINGRUN_NATIVE'];
  for (const candidate of named ? [fileCandidate(named)] : usualCandidates) {
    const loaded = load(candidate, attempts, seen);
    if (loaded !== undefined) return loaded;
  }
  return undefined;
}

function load({ what, find }: Candidate, attempts: Attempt[], seen: Map<string, number>): unknown {
  try {
    const binary = find();
    seen.set(binary, modifiedAt(binary));
    return require(binary);
  } catch (error) {
    attempts.push({ what: what(), reason: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}

/** A place of a binary. Looked up only after the previous places have failed. */
interface Candidate {
  /** Its name in the error. */
  what: () => string;
  /** Returns the file or package to load. Throws the reason if it does not exist. */
  find: () => string;
}

const usualCandidates: readonly Candidate[] = [
  fileCandidate(builtInPackage),
  {
    what: () => cachedFile() ?? "the user's cache",
    find: () => {
      const binary = existing(builtInCache());
      const problem = problemOfOwner(dirname(binary));
      if (problem !== undefined) throw new Error(problem);
      return binary;
    },
  },
  {
    what: platformPackage,
    find: () => {
      if (isInstalled(platformPackage())) return platformPackage();
      throw new Error('not installed');
    },
  },
];

function fileCandidate(path: string): Candidate {
  return { what: () => path, find: () => existing(path) };
}

function existing(path: string): string {
  if (existsSync(path)) return path;
  throw new Error('no such file');
}

function cachedFile(): string | undefined {
  try {
    return builtInCache();
  } catch {
    return undefined;
  }
}

function isInstalled(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}

function modifiedAt(path: string): number {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}
