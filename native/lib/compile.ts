import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { platformName } from './platform.ts';

const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const script = join(packageFolder, 'build.js');

/** Where `build.js` puts its binary in a package folder that this user may write to. */
export const builtInPackage = join(packageFolder, 'build', 'ringrun.node');

/** Where it goes otherwise, as in an installation of root's: a folder of this user, for this version and platform. */
export function builtInCache(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'ringrun', `native-${version()}-${platformName()}`, 'ringrun.node');
}

/** Why a binary in the cache is not to be loaded: another user could have written it. */
export function problemOfOwner(binary: string): string | undefined {
  const { uid, mode } = statSync(join(binary, '..'));
  if (process.getuid !== undefined && uid !== process.getuid()) return `its folder belongs to user ${uid}`;
  if ((mode & 0o022) !== 0) return 'other users may write to its folder';
  return undefined;
}

/**
 * Compiles the addon, or waits for the process on this host that already does. Every rank calls this at once where there is no binary: one of them compiles.
 *
 * @param seen Modification time in milliseconds of the binary that did not load; 0 if there was none. A newer one is taken as it is.
 * @returns The binary, or the problem.
 */
export function compileOnce(seenAt: (binary: string) => number): { binary: string } | { problem: string } {
  const place = placeToBuild();
  if ('problem' in place) return place;
  const { status, signal, error, stderr } = spawnSync(
    process.execPath,
    [script, '--into', place.folder, '--seen', String(seenAt(place.binary))],
    // Its standard output is for people: it says that it compiles, or waits.
    { stdio: ['ignore', 2, 'pipe'], encoding: 'utf8' },
  );
  if (status === 0) return { binary: place.binary };
  const reason = error?.message ?? (stderr.trim() || `ended with ${signal ?? `exit code ${String(status)}`}`);
  return { problem: reason };
}

/**
 * What `ringrun build-native` does: compiles the addon for this machine, beforehand, so that no rank has to.
 *
 * @returns The exit code for the command.
 */
export function buildNative(): number {
  const place = placeToBuild();
  if ('problem' in place) {
    process.stderr.write(`ringrun: the native addon was not built: ${place.problem}\n`);
    return 1;
  }
  const { status } = spawnSync(process.execPath, [script, '--into', place.folder], { stdio: 'inherit' });
  if (status === 0) process.stderr.write(`ringrun: the native addon is ${place.binary}\n`);
  return status ?? 1;
}

function placeToBuild(): { folder: string; binary: string } | { problem: string } {
  const reasons: string[] = [];
  for (const binary of [builtInPackage, builtInCache()]) {
    const folder = join(binary, '..');
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      accessSync(folder, constants.W_OK);
      return { folder, binary };
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  return {
    problem: `no folder to compile into: ${reasons.join('; ')}. Set XDG_CACHE_HOME to a folder that can be written to.`,
  };
}

function version(): string {
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}
