// Installs the packages of a folder on this platform as a user would, and reduces an array on two ranks:
//
//   node scripts/release/try.js release
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tryInstalled } from './install.js';

const folder = resolve(process.argv[2] ?? 'release');
const packed = readdirSync(folder)
  .filter((name) => name.endsWith('.tgz'))
  .map((file) => ({ name: packageOf(file), tarball: join(folder, file) }));
tryInstalled(packed);
console.log(
  `${packed.length} packages of ${folder} work on Node ${process.version}, ${process.platform}-${process.arch}.`,
);

/** npm names the tarball of @ringrun/nn ringrun-nn-0.1.0.tgz. */
function packageOf(file) {
  const name = file.replace(/-\d+\.\d+\.\d+.*$/, '');
  return name === 'ringrun' ? name : name.replace('ringrun-', '@ringrun/');
}
