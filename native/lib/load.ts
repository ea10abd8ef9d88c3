import { existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { builtInCache, builtInPackage, compileOnce, problemOfOwner } from './compile.ts';
import { platformName, platformPackage } from './platform.ts';

/** No binary of the addon could be loaded or compiled. The message lists everything that was tried, with reasons. */
export class NativeUnavailableError extends Error {
  readonly code = 'ERR_NATIVE_UNAVAILABLE';

  constructor(attempts: readonly Attempt[]) {
    const list = attempts.map(({ what, reason }) => `  ${what}: ${reason.replaceAll('\n', '\n    ')}`);
    super(
      [
        `ringrun's native addon is not available for ${platformName()}. Tried:`,
        ...list,
        `Install the binary for this platform: npm install ${platformPackage()} (on x64 and arm64 Linux npm does so`,
        'by itself, unless optional dependencies are omitted or node_modules was copied from another platform).',
        'Or install a C++17 compiler, and run "npx ringrun build-native":',
        '  apt-get install g++            Debian, Ubuntu',
        '  apk add g++ linux-headers      Alpine',
        '  xcode-select --install         macOS',
        'Or set RINGRUN_NATIVE to the path of a binary.',
      ].join('\n'),
    );
    this.name = 'NativeUnavailableError';
  }
}

interface Attempt {
  what: string;
  reason: string;
}

const require = createRequire(import.meta.url);

/**
 * Loads the addon from the first of these that works: RINGRUN_NATIVE (if set, nothing else is tried), a binary compiled
 * on this host before, the platform's package, a binary compiled now.
 */
export function loadBinding(): unknown {
  const attempts: Attempt[] = [];
  const load = (what: string, reasonIfMissing: string | undefined): unknown => {
    try {
      if (reasonIfMissing === undefined) return require(what);
      attempts.push({ what, reason: reasonIfMissing });
    } catch (error) {
      attempts.push({ what, reason: error instanceof Error ? error.message : String(error) });
    }
    return undefined;
  };

  const named = process.env['RINGRUN_NATIVE'];
  if (named) {
    const loaded = load(named, existsSync(named) ? undefined : 'no such file');
    if (loaded !== undefined) return loaded;
    throw new NativeUnavailableError(attempts);
  }

  const cached = builtInCache();
  const candidates = [
    [builtInPackage, existsSync(builtInPackage) ? undefined : 'no such file'],
    [cached, existsSync(cached) ? problemOfOwner(cached) : 'no such file'],
    [platformPackage(), isInstalled(platformPackage()) ? undefined : 'not installed'],
  ] as const;
  const seen = new Map([builtInPackage, cached].map((binary) => [binary, modifiedAt(binary)]));
  for (const [what, problem] of candidates) {
    const loaded = load(what, problem);
    if (loaded !== undefined) return loaded;
  }

  const compiled = compileOnce((binary) => seen.get(binary) ?? 0);
  if ('problem' in compiled) attempts.push({ what: 'compiling it', reason: compiled.problem });
  const loaded = 'binary' in compiled ? load(compiled.binary, undefined) : undefined;
  if (loaded !== undefined) return loaded;
  throw new NativeUnavailableError(attempts);
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
