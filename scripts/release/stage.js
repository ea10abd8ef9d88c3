// Copies each public package into its own folder, as npm will pack it.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { packedSources } from '../../native/compile/sources.js';
import { addDocs, pagesOf } from './docs.js';
import { commonJsFolder, platformManifest, publishedManifest } from './manifest.js';
import { removeUnusedModules } from './modules.js';
import { addOnnxruntime, onnxruntimeFiles } from './onnxruntime.js';
import { packSources } from './sources.js';
import { oldestMacos } from './targets.js';
import { vendorInto } from './vendor.js';
import { addZeromq } from './zeromq.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The packages that are published, dependencies first. */
export function publicPackages() {
  const folders = ['native', ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)];
  const found = folders
    .map((folder) => ({ folder: join(root, folder), manifest: readJson(join(root, folder, 'package.json')) }))
    .filter(({ manifest }) => !manifest.private);
  const sorted = [];
  const add = (one) => {
    if (sorted.includes(one)) return;
    const needed = { ...one.manifest.dependencies, ...one.manifest.peerDependencies };
    for (const other of found) if (other.manifest.name in needed) add(other);
    sorted.push(one);
  };
  found.forEach(add);
  return sorted;
}

/** @returns The new folder in `into`. */
export function stagePackage({ folder, manifest }, into) {
  const staged = freshFolder(into, manifest.name);
  for (const name of manifest.files) {
    const filter = (path) => isPublished(path, folder);
    cpSync(join(folder, name), join(staged, name), { recursive: true, filter });
  }
  if (manifest.name === '@ringrun/native') packSources(staged);
  copyFileSync(join(root, 'LICENSE'), join(staged, 'LICENSE'));
  removeUnusedModules(staged);
  addDocs(staged, relative(root, folder), manifest.name);
  const published = publishedManifest(manifest, vendorInto(staged, folder));
  published.files = manifest.files.map((name) => (name === 'src' ? packedSources : name));
  if (pagesOf(manifest.name).length > 0) published.files.push('docs');
  writeJson(join(staged, 'package.json'), published);
  const dist = join(staged, 'dist');
  removeLinksToMaps(dist);
  removeIndentation(join(dist, 'bundle'));
  nameTypesByJavaScript(dist);
  removePrivateTypes(
    dist,
    Object.values(published.exports)
      .map(({ types }) => types)
      .filter(Boolean),
  );
  addCommonJs(staged, published.exports);
  return staged;
}

/** @param binary The addon, compiled for the target. */
export function stagePlatform(target, binary, into) {
  const native = readJson(join(root, 'native/package.json'));
  const staged = freshFolder(into, target.packageName);
  const addon = join(staged, 'ringrun.node');
  copyFileSync(binary, addon);
  // Symbols have 0.9 MB. Those of other platforms are linked without, and `strip` may not know them; on macOS it would also
  // invalidate the signature.
  if (target.os === 'linux') spawnSync('strip', [addon], { stdio: 'ignore' });
  copyFileSync(join(root, 'LICENSE'), join(staged, 'LICENSE'));
  addOnnxruntime(target, staged);
  addZeromq(target, staged);
  writeJson(join(staged, 'package.json'), platformManifest(target, native));
  writeFileSync(join(staged, 'README.md'), readmeOf(target));
  return staged;
}

function readmeOf(target) {
  const { packageName, os, cpu, libc } = target;
  const contents = [
    ...(onnxruntimeFiles(target).length > 0
      ? ['the library of [onnxruntime](https://onnxruntime.ai) (licence in the folder `onnxruntime`)']
      : []),
    '[zeromq](https://github.com/zeromq/zeromq.js) (licences and the source of libzmq in the folder `zeromq`)',
  ];
  const system = os === 'darwin' ? `macOS ${oldestMacos} or later` : `${os} with ${libc}`;
  return `# ${packageName}

The native addon of [ringrun](https://www.npmjs.com/package/ringrun), compiled for ${cpu} ${system}.
npm installs it with \`@ringrun/native\` where it fits.

Contains ${contents.join(' and ')}.
`;
}

/**
 * Rewrites imports in declarations: TypeScript keeps ./x.ts there, but the package has ./x.js and ./x.d.ts. Imports without names
 * go: they declare nothing, and the module may have no declarations in the package.
 */
function nameTypesByJavaScript(folder) {
  for (const file of declarationsIn(folder)) {
    const text = readFileSync(file, 'utf8').replace(/^import '\.[^'\n]*';\n/gm, '');
    writeFileSync(file, text.replace(/((?:from |import\()(['"])\.{1,2}\/[^'"\n]*)\.ts\2/g, '$1.js$2'));
  }
}

/**
 * Adds a CommonJS entry for each ES module of `exports`. It requires that module, so a process never loads ringrun
 * twice. Its types are copies in a folder of type `commonjs`: under `module: node16` TypeScript cannot require
 * declarations of ES modules.
 */
function addCommonJs(staged, exports) {
  const folder = join(staged, commonJsFolder);
  for (const file of declarationsIn(join(staged, 'dist'))) {
    const copy = join(folder, file.slice(join(staged, 'dist').length));
    mkdirSync(dirname(copy), { recursive: true });
    // Editors read the comments of the ES modules' types; those of these copies would have 0.6 MB.
    writeFileSync(copy, readFileSync(file, 'utf8').replace(/^ *\/\*\*.*?\*\/\n|^ +/gms, ''));
  }
  for (const { require: entry, default: module } of Object.values(exports)) {
    if (entry === undefined) continue;
    const depth = entry.default.split('/').length - 3;
    const path = `${'../'.repeat(depth)}${module.slice('./dist/'.length)}`;
    mkdirSync(dirname(join(staged, entry.default)), { recursive: true });
    writeFileSync(join(staged, entry.default), `module.exports = require('${path}');\n`);
  }
  writeJson(join(folder, 'package.json'), { type: 'commonjs' });
}

/** Deletes declarations that no entry point imports: they are half of all files. */
function removePrivateTypes(folder, entries) {
  const used = new Set();
  const add = (file) => {
    if (used.has(file)) return;
    used.add(file);
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']*)'/g))
      add(join(dirname(file), path.replace(/\.js$/, '.d.ts')));
  };
  for (const entry of entries) add(join(dirname(folder), entry));
  for (const file of declarationsIn(folder)) if (!used.has(file)) rmSync(file);
}

/** Source maps and sources are not published. */
function removeLinksToMaps(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!/\.(js|d\.ts)$/.test(name)) continue;
    const file = join(folder, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(/\/\/# sourceMappingURL=.*\n?$/, ''));
  }
}

/** A fifth of the bundles. Lines stay short, because Node.js prints the line of an uncaught error. */
function removeIndentation(folder) {
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const file = join(folder, name);
    const { code } = transformSync(readFileSync(file, 'utf8'), {
      minifyWhitespace: true,
      lineLimit: 120,
      format: 'esm',
      target: 'node20',
    });
    writeFileSync(file, code);
  }
}

function declarationsIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.d.ts'))
    .map((name) => join(folder, name));
}

/** The compiler leaves files in `dist` whose sources were deleted. */
function isPublished(path, folder) {
  if (/\.(tsbuildinfo|map)$/.test(path)) return false;
  if (relative(folder, path).startsWith('dist/bundle/')) return true;
  const compiled = /^dist\/(.*?)(\.d\.ts|\.js)$/.exec(relative(folder, path));
  if (compiled === null) return true;
  return ['src', 'lib'].some((sources) => existsSync(join(folder, sources, `${compiled[1]}.ts`)));
}

function freshFolder(into, name) {
  const folder = join(into, name.replace('@', '').replace('/', '-'));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
}
