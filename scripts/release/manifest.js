// Creates the package.json of a published package from the one in the repository.
import { onnxruntimeFiles } from './onnxruntime.js';
import { isPacked } from './sources.js';
import { targets } from './targets.js';
import { isBundled } from './vendor.js';

/** Folder of the CommonJS entry points: files that require the ES module, and copies of its types. */
export const commonJsFolder = 'dist/commonjs';

/**
 * @param manifest The one in the repository, with `workspace:*` dependencies and a `source` in exports.
 * @param imports Modules of bundled dependencies (`vendor.js`).
 */
export function publishedManifest(manifest, imports) {
  const entry = manifest.exports['.'];
  const published = {
    ...manifest,
    // For tools that do not read `exports`.
    main: entry.default,
    types: entry.types,
    exports: { ...mapValues(manifest.exports, publishedEntry), './package.json': './package.json' },
    ...(imports && { imports }),
  };
  delete published.devDependencies;
  for (const kind of ['dependencies', 'peerDependencies']) {
    if (!manifest[kind]) continue;
    const needed = Object.entries(manifest[kind]).filter(([name]) => !isBundled(name) && !isPacked(name));
    published[kind] = mapValues(Object.fromEntries(needed), (range) => versionOf(range, manifest.version));
    if (needed.length === 0) delete published[kind];
  }
  if (manifest.name === '@ringrun/native') {
    const names = targets.map(({ packageName }) => [packageName, manifest.version]);
    published.optionalDependencies = Object.fromEntries(names);
  }
  return published;
}

/**
 * The package.json of a platform package, which contains the addon, zeromq (MIT) with libzmq (MPL-2.0) and libsodium
 * (ISC), and, except for musl, the library of onnxruntime (MIT).
 */
export function platformManifest(target, native) {
  const { version, license, author, homepage, repository, publishConfig, engines } = native;
  const ofOnnxruntime = onnxruntimeFiles(target);
  return {
    name: target.packageName,
    version,
    description: `The native addon of ringrun for ${[target.os, target.cpu, target.libc].filter(Boolean).join(', ')}`,
    license: `${license} AND MIT AND MPL-2.0 AND ISC`,
    author,
    homepage,
    repository,
    engines,
    os: [target.os],
    cpu: [target.cpu],
    ...(target.libc && { libc: [target.libc] }),
    main: 'ringrun.node',
    files: ['ringrun.node', ...ofOnnxruntime, 'zeromq'],
    publishConfig,
  };
}

function publishedEntry({ types, default: file }) {
  const inCommonJs = (path) => path.replace('./dist/', `./${commonJsFolder}/`);
  return { require: { types: inCommonJs(types), default: inCommonJs(file) }, types, default: file };
}

function versionOf(range, version) {
  return range === 'workspace:*' ? version : range;
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
