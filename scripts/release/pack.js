import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Packs a staged package into the folder `into`. */
export function pack(folder, into) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', into];
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm pack failed in ${folder}: ${stderr.trim()}`);
  // npm 12 prints an object by package name, older versions a list.
  const [{ name, filename }] = Object.values(JSON.parse(stdout));
  return { name, tarball: join(into, filename) };
}
