// Bundles the script and the style of the dashboard's page, if they are missing or older than their sources.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newest, oldest } from './build-times.js';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The script shares files with the server, and imports nothing from outside of this folder. */
const sources = join(root, 'packages/launcher/src/dashboard');
const client = join(sources, 'page/client');
const into = join(root, 'packages/launcher/dist/dashboard/page/client');

if (
  newest(filesIn(sources).concat(fileURLToPath(import.meta.url))) >
  oldest(['main.js', 'page.css'].map((name) => join(into, name)))
) {
  await bundle();
}

async function bundle() {
  const { build } = await import('esbuild');
  const { metafile, outputFiles } = await build({
    entryPoints: [join(client, 'main.ts'), join(client, 'page.css')],
    outdir: into,
    absWorkingDir: root,
    bundle: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    metafile: true,
    write: false,
    logLevel: 'warning',
    // esbuild has printed its errors.
  }).catch(() => process.exit(1));
  const outside = Object.keys(metafile.inputs).filter((path) =>
    relative(sources, join(root, path)).startsWith('..'),
  );
  if (outside.length > 0) {
    console.error(
      `bundle-page: expected imports from ${relative(root, sources)} only, got ${outside.join(', ')}. Move what the page shares there.`,
    );
    process.exit(1);
  }
  mkdirSync(into, { recursive: true });
  for (const { path, contents } of outputFiles) writeFileSync(path, contents);
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
}
