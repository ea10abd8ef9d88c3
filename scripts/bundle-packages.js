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
    // Two classes of one name would be renamed otherwise, and their names are in messages.
    keepNames: true,
    sourcemap: true,
    logLevel: 'warning',
    banner: { js: 'const bundleUrl = import.meta.url;' },
    define: { 'import.meta.url': 'moduleUrl' },
    plugins: [moduleUrls(into)],
    // esbuild has printed its errors.
  }).catch(() => process.exit(1));
}

/** Lets `import.meta.url` be that of the module, which names files beside it: threads, loader hooks and package.json. */
function moduleUrls(into) {
  return {
    name: 'module-urls',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.js$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        if (!text.includes('import.meta.url')) return { contents: text, loader: 'js' };
        const own = `const moduleUrl = new URL(${JSON.stringify(relative(into, path))}, bundleUrl).href;`;
        // On the first line, so that the lines of the source map stay right.
        return { contents: `${own} ${text}`, loader: 'js' };
      });
    },
  };
}

function moduleOf(path) {
  return path.replace('./dist/bundle/', '').replace(/\.js$/, '').replaceAll('.', '/') + '.js';
}

function bundleOf(module) {
  return module.replaceAll('/', '.');
}
