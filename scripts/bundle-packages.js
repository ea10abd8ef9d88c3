// Bundles the modules of each package that is published into a few files in dist/bundle, if they are older than the modules.
// Node.js 20 takes about a millisecond to find, read and link a module, and a rank loads 750.
//
//   dist/bundle/rounds.index.js is the bundle of dist/rounds/index.js; package.json names it as an entry point
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newest, oldest } from './build-times.js';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Modules that tests change in the bundle that a process runs. */
const forTests = {
  '@ringrun/nn': ['executor/cpu/onnxruntime.js'],
  '@ringrun/rendezvous': ['store/calling-store.js'],
};

const folders = ['native', ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)];
await Promise.all(folders.map(bundleIfOutdated));

async function bundleIfOutdated(folder) {
  const home = join(root, folder);
  const { name, private: isPrivate, exports } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  if (isPrivate) return;
  const dist = join(home, 'dist');
  const into = join(dist, 'bundle');
  const entries = Object.values(exports).map((entry) => moduleOf(entry.default));
  entries.push(...(forTests[name] ?? []));
  const bundles = entries.map((entry) => join(into, bundleOf(entry)));
  // The compiler writes it last, and tests compare it with the bundle.
  const compiled = join(dist, '.tsbuildinfo');
  if (newest([compiled, fileURLToPath(import.meta.url)]) <= oldest(bundles)) return;
  await bundle(dist, into, entries);
}

async function bundle(dist, into, entries) {
  const { build } = await import('esbuild');
  rmSync(into, { recursive: true, force: true });
  const input = entries.map((entry) => ({
    in: join(dist, entry),
    out: bundleOf(entry).replace(/\.js$/, ''),
  }));
  await build({
    entryPoints: input,
    outdir: into,
    bundle: true,
    // Entry points share their modules.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    sourcemap: true,
    logLevel: 'warning',
    banner: { js: 'const bundleUrl = import.meta.url;' },
    define: { 'import.meta.url': 'moduleUrl' },
    plugins: [ownNames(into)],
    // esbuild has printed its errors.
  }).catch(() => process.exit(1));
}

/**
 * Lets `import.meta.url` be that of the module, which names files beside it: threads, loader hooks and package.json. And keeps
 * the names of classes and public functions: esbuild renames two of one name, and its `keepNames` also names every function
 * that a function creates, whenever it does, which took 6% of a small training step.
 */
function ownNames(into) {
  return {
    name: 'own-names',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.js$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        const names = text.matchAll(
          /^export (?:default )?(?:class|(?:async )?function\*?) (\w+)|^class (\w+)/gm,
        );
        const named = Array.from(names, ([, exported, own]) => nameOf(exported ?? own));
        const contents = `${moduleUrl(into, path, text)}${text}\n${named.join('')}`;
        return { contents, loader: 'js' };
      });
    },
  };
}

function nameOf(name) {
  return `Object.defineProperty(${name}, 'name', { value: '${name}', configurable: true });\n`;
}

/** On the first line, so that the lines of the source map stay right. */
function moduleUrl(into, path, text) {
  if (!text.includes('import.meta.url')) return '';
  return `const moduleUrl = new URL(${JSON.stringify(relative(into, path))}, bundleUrl).href; `;
}

function moduleOf(path) {
  return path.replace('./dist/bundle/', '').replace(/\.js$/, '').replaceAll('.', '/') + '.js';
}

function bundleOf(module) {
  return module.replaceAll('/', '.');
}
