// `npm run test:changed [base] [-- options of vitest]`: runs the tests of the packages that a change can reach. The
// change consists of the differences from the commit `base`, and new files. Default: `HEAD`, the last commit.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reachedFolders } from './changed/reached-folders.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const [given] = process.argv.slice(2);
const base = given === undefined || given.startsWith('-') ? 'HEAD' : given;
const options = process.argv.slice(base === given ? 3 : 2);

const changed = [
  ...git('diff', '--name-only', '--merge-base', base),
  ...git('ls-files', '--others', '--exclude-standard'),
];
const folders = reachedFolders(changed, workspaces()).filter((folder) => existsSync(join(root, folder)));
if (folders.length === 0) {
  console.log(`No file differs from ${base}.`);
} else {
  console.log(`Tests that a change since ${base} can reach: ${folders.join(', ')}`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  // With the slash, `test` is not a part of other paths.
  const filters = folders.map((folder) => join(root, folder, '/'));
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...filters, ...options], {
    cwd: root,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
}

function workspaces() {
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`);
  return ['native', ...packages, '.']
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => {
      const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
      const kinds = ['dependencies', 'devDependencies', 'peerDependencies'];
      const dependencies = kinds.flatMap((kind) => Object.keys(manifest[kind] ?? {}));
      return { folder, name: manifest.name, dependencies };
    });
}
