// Turns a copy of the sources into the files of the images: built packages, production dependencies and the examples.
// The Dockerfile runs it; it also works without Docker (deploy/README.md).
//
//   node deploy/make-tree.js     in the root of the copy; deletes the addon's sources and other platforms' binaries
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The images have no TensorFlow.js: with what its backends need, it has 260 MB. Its adapter, @ringrun/tfjs, is in them. */
const leftOut = 'examples-mnist-tfjs';

const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`);

if (existsSync(join(root, '.git'))) {
  console.error(
    'make-tree: expected a copy of the sources, got a Git clone, which would lose files. Run it in a copy.',
  );
  process.exit(1);
}
pnpm('install', '--frozen-lockfile');
run(process.execPath, 'native/build.js');
run(process.execPath, 'node_modules/typescript/bin/tsc', '--build', ...packages);
run(process.execPath, 'scripts/bundle-packages.js');
run(process.execPath, 'scripts/bundle-page.js');
// A fresh install, because removing development packages would leave their dependencies.
for (const folder of dependencyFolders()) remove(folder);
pnpm('install', '--frozen-lockfile', '--prod', '--prefer-offline', '--filter', `!@ringrun/${leftOut}`);
remove(join(root, 'packages', leftOut));
removeWhatOnlyBuilds();
removeOtherPlatforms();

function dependencyFolders() {
  return ['.', 'native', ...packages].map((folder) => join(root, folder, 'node_modules'));
}

function removeWhatOnlyBuilds() {
  const objects = readdirSync(join(root, 'native/build')).filter((name) => name !== 'ringrun.node');
  for (const path of ['src', ...objects.map((name) => `build/${name}`)]) remove(join(root, 'native', path));
}

/** onnxruntime-node contains binaries of six platforms (290 MB), zeromq of twelve. */
function removeOtherPlatforms() {
  const onnxruntime = join(packageFolder('.', 'onnxruntime-node'), 'bin/napi-v6');
  keepOnly(onnxruntime, process.platform);
  keepOnly(join(onnxruntime, process.platform), process.arch);
  const zeromq = join(packageFolder('.', 'zeromq'), 'build');
  keepOnly(zeromq, process.platform);
  keepOnly(join(zeromq, process.platform), process.arch);
}

function packageFolder(dependent, name) {
  const require = createRequire(join(root, dependent, 'package.json'));
  return dirname(realpathSync(require.resolve(`${name}/package.json`)));
}

/** Removes all other folders; files stay. */
function keepOnly(folder, kept) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name !== kept) remove(join(folder, entry.name));
  }
}

function remove(path) {
  rmSync(path, { recursive: true, force: true });
}

function pnpm(...args) {
  run('npx', '--yes', packageManager, ...args);
}

/** Ends the process if the command fails. CI=true keeps pnpm from prompting. */
function run(command, ...args) {
  const { status, signal, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, CI: 'true' },
  });
  if (status === 0) return;
  const reason = error?.message ?? signal ?? `exit code ${status}`;
  console.error(`make-tree: ${command} ${args.join(' ')} failed in ${root}: ${reason}`);
  process.exit(1);
}
