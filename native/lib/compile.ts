import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { platformName } from './platform.ts';
import { userCache } from '../user-cache.js';

const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const script = join(packageFolder, 'build.js');

/** Path of the binary that `build.js` writes if this user can write to the package folder. */
export const builtInPackage = join(packageFolder, 'build', 'ringrun.node');

/**
 * Path of the binary otherwise, as in an installation owned by root: in the user's cache, for this version and platform.
 *
 * @throws Error if the user has no cache, or if this code was moved out of its package, as by a bundler
 */
export function builtInCache(): string {
  return join(userCache(process.env), 'ringrun', `native-${version()}-${platformName()}`, 'ringrun.node');
}

/**
 * Compiles the addon, or waits for another process on this host that is compiling it. Without a binary, all ranks
 * call this at once and one of them compiles.
 *
 * @param seenAt Modification time, in milliseconds, of the binary that did not load; 0 if there was none. A newer one
 * is used.
 * @returns The binary, or the problem.
 */
export function compileOnce(seenAt: (binary: string) => number): { binary: string } | { problem: string } {
  const place = placeToBuild();
  if ('problem' in place) return place;
  const { status, signal, error, stderr } = spawnSync(
    process.execPath,
    [script, '--into', place.folder, '--seen', String(seenAt(place.binary))],
    // Its standard output, which reports that it compiles or waits, is shown to the user on stderr.
    { stdio: ['ignore', 2, 'pipe'], encoding: 'utf8' },
  );
  if (status === 0) return { binary: place.binary };
  const reason =
    error?.message ?? (stderr.trim() || `exited with ${signal ?? `exit code ${String(status)}`}`);
  return { problem: reason };
}

/**
 * Runs `ringrun build-native`: compiles the addon for this machine in advance, so that ranks do not have to.
 *
 * @returns The exit code of the command.
 */
export function buildNative(): number {
  const place = placeToBuild();
  if ('problem' in place) {
    process.stderr.write(`ringrun: the native addon was not built: ${place.problem}\n`);
    return 1;
  }
  const { status } = spawnSync(process.execPath, [script, '--into', place.folder], { stdio: 'inherit' });
  if (status === 0) process.stderr.write(`ringrun: built the native addon: ${place.binary}\n`);
  return status ?? 1;
}

function placeToBuild(): { folder: string; binary: string } | { problem: string } {
  const reasons: string[] = [];
  for (const place of [() => builtInPackage, builtInCache]) {
    try {
      const binary = place();
      const folder = join(binary, '..');
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      accessSync(folder, constants.W_OK);
      return { folder, binary };
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  return {
    problem: `no writable folder to compile into: ${reasons.join('; ')}. Set XDG_CACHE_HOME to a writable folder.`,
  };
}

function version(): string {
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}
