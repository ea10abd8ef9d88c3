import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** No binary of the addon could be loaded or made. The message lists what was tried, each with its reason. */
export class NativeUnavailableError extends Error {
  readonly code = 'ERR_NATIVE_UNAVAILABLE';

  constructor(attempts: readonly Attempt[]) {
    const list = attempts.map(({ what, reason }) => `  ${what}: ${reason.replaceAll('\n', '\n    ')}`);
    super(
      [
        `ringrun's native addon is not available for ${platform()}. Tried:`,
        ...list,
        'To mend it, install a C++17 compiler and start again:',
        '  apt-get install g++            Debian, Ubuntu',
        '  apk add g++ linux-headers      Alpine',
        '  xcode-select --install         macOS',
        'or name a binary in RINGRUN_NATIVE.',
      ].join('\n'),
    );
    this.name = 'NativeUnavailableError';
  }
}

interface Attempt {
  what: string;
  reason: string;
}

const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const built = `${packageFolder}build/ringrun.node`;
const require = createRequire(import.meta.url);

function platform(): string {
  return `${process.platform}-${process.arch}`;
}

/**
 * RINGRUN_NATIVE where it is set, and nothing else; otherwise what `build.js` made, a prebuilt binary of this platform, or what
 * `build.js` makes now.
 */
export function loadBinding(): unknown {
  const attempts: Attempt[] = [];
  const load = (path: string): unknown => {
    try {
      return require(path);
    } catch (error) {
      attempts.push({ what: path, reason: existsSync(path) ? reasonOf(error) : 'no such file' });
      return undefined;
    }
  };

  const named = process.env['RINGRUN_NATIVE'];
  const candidates = named ? [named] : [built, `${packageFolder}prebuilds/${platform()}/ringrun.node`];
  for (const path of candidates) {
    const loaded = load(path);
    if (loaded !== undefined) return loaded;
  }
  if (!named) {
    const problem = compile();
    const loaded = problem === undefined ? load(built) : undefined;
    if (loaded !== undefined) return loaded;
    if (problem !== undefined) attempts.push({ what: `${packageFolder}build.js`, reason: problem });
  }
  throw new NativeUnavailableError(attempts);
}

/** Compiles once per process, and says so, since it takes some seconds. Answers with what went wrong, if anything. */
function compile(): string | undefined {
  console.error(`ringrun: no binary of the native addon for ${platform()}: compiling it once`);
  const { status, signal, error, stderr } = spawnSync(process.execPath, [`${packageFolder}build.js`], {
    encoding: 'utf8',
  });
  if (status === 0) return undefined;
  return error?.message ?? (stderr.trim() || `ended by ${signal ?? `exit code ${String(status)}`}`);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
