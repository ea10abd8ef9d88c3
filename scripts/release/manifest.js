// What the package.json of a published package says, made from the one in the repository.
import { targets } from './targets.js';

/** Where a CommonJS program enters: a file that requires the same module, and the same types as CommonJS. */
export const commonJsFolder = 'dist/commonjs';

/** @param manifest As it is in the repository: dependencies inside of it are `workspace:*`, exports have a `source`. */
export function publishedManifest(manifest) {
  const entry = manifest.exports['.'];
  const published = {
    ...manifest,
    // For tools that do not read `exports`.
    main: entry.default,
    types: entry.types,
    exports: { ...mapValues(manifest.exports, publishedEntry), './package.json': './package.json' },
  };
  delete published.devDependencies;
  for (const kind of ['dependencies', 'peerDependencies']) {
    if (manifest[kind])
      published[kind] = mapValues(manifest[kind], (range) => versionOf(range, manifest.version));
  }
  if (manifest.name === '@ringrun/native') {
    const names = targets.map(({ packageName }) => [packageName, manifest.version]);
    published.optionalDependencies = Object.fromEntries(names);
  }
  return published;
}

/** Of the package that consists of the binary for a target. */
export function platformManifest(target, native) {
  const { version, license, author, homepage, repository, publishConfig, engines } = native;
  return {
    name: target.packageName,
    version,
    description: `The native addon of ringrun for ${target.os}, ${target.cpu}, ${target.libc}`,
    license,
    author,
    homepage,
    repository,
    engines,
    os: [target.os],
    cpu: [target.cpu],
    libc: [target.libc],
    main: 'ringrun.node',
    files: ['ringrun.node'],
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
