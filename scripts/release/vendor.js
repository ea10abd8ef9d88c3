// Bundles some dependencies into the packages that use them, because they would bring install scripts or megabytes that
// ringrun does not use. The packages have exact versions of their dependencies either way.
import { buildSync } from 'esbuild';
import { existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * The bundled modules of a dependency. Reasons: an install script (the first two), 3.5 MB with its dependencies (tar), and a
 * fifth of the bytes and none of five further packages (the last two).
 */
const bundled = {
  msgpackr: ['msgpackr'],
  protobufjs: ['protobufjs/light.js', 'protobufjs/minimal.js'],
  tar: ['tar'],
  commander: ['commander'],
  'cli-progress': ['cli-progress'],
};

/** Folder of the bundles in a package. */
const folderName = 'dist/vendor';

/** Whether `name` is part of the packages that use it. */
export function isBundled(name) {
  return name in bundled;
}

/**
 * Bundles the modules that the JavaScript in `staged` imports. Imports of `tar` become imports of `#tar`.
 *
 * @param folder The package in the repository, from which its dependencies are resolved.
 * @returns The `imports` of its package.json; undefined without any.
 */
export function vendorInto(staged, folder) {
  const used = new Set();
  for (const file of filesIn(join(staged, 'dist'), '.js')) {
    const text = readFileSync(file, 'utf8');
    const changed = Object.values(bundled)
      .flat()
      .reduce((before, name) => {
        const after = before.replace(importsOf(name), '$1$2#' + name + '$2');
        if (after !== before) used.add(name);
        return after;
      }, text);
    if (changed !== text) writeFileSync(file, changed);
  }
  if (used.size === 0) return undefined;
  const packages = new Set();
  const imports = [...used].sort().map((name) => {
    const file = `${folderName}/${name.replace('/', '-').replace(/\.js$/, '')}.cjs`;
    bundle(name, folder, join(staged, file)).forEach((one) => packages.add(one));
    return [`#${name}`, `./${file}`];
  });
  writeFileSync(join(staged, folderName, 'LICENSES.txt'), licencesOf([...packages].sort()));
  return Object.fromEntries(imports);
}

/** `import`, `export`, `import()`, `require()` (`require2()` in a bundle), and `whenUsed()`, which calls `require`. */
function importsOf(name) {
  return new RegExp(
    `(from |import |import\\(|require\\d*\\(|whenUsed\\()(['"])${name.replace('.', '\\.')}\\2`,
    'g',
  );
}

/** @returns The folders of the packages in the bundle. tar is published as a bundle of its dependencies. */
function bundle(name, from, to) {
  const require = createRequire(join(from, 'package.json'));
  // CommonJS modules have no named exports for `export *`.
  const names = Object.keys(require(name)).filter(
    (one) => /^\w+$/.test(one) && one !== 'default' && one !== '__esModule',
  );
  mkdirSync(dirname(to), { recursive: true });
  const { metafile } = buildSync({
    stdin: { contents: `export { ${names.join(', ')} } from '${name}';`, resolveDir: from },
    outfile: to,
    absWorkingDir: from,
    bundle: true,
    // Half of the size. Stack traces and errors keep the names.
    minify: true,
    keepNames: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    metafile: true,
    logLevel: 'warning',
    // Bundled without its optional native part, which has an install script.
    define: { 'process.env.MSGPACKR_NATIVE_ACCELERATION_DISABLED': '"true"' },
    external: ['msgpackr-extract'],
  });
  const files = Object.keys(metafile.inputs).filter((path) => path !== '<stdin>');
  const packages = new Set(files.map((path) => packageOf(realpathSync(join(from, path)))));
  return [...packages].flatMap(withDependencies);
}

/** Folder of the package of a file. Folders inside a package may have a package.json without a name. */
function packageOf(file) {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name !== undefined) return folder;
  }
}

function withDependencies(folder) {
  const path = join(folder, 'package.json');
  const require = createRequire(path);
  const names = Object.keys(JSON.parse(readFileSync(path, 'utf8')).dependencies ?? {});
  return [
    folder,
    ...names.flatMap((name) => withDependencies(packageOf(realpathSync(require.resolve(name))))),
  ];
}

function licencesOf(folders) {
  return folders
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
      const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
      return `${name} ${version}: ${license}\n${text}`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function filesIn(folder, ending) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}
