import { readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { repository } from './environment.ts';

/**
 * The compiled form of a script or fixture: `test/dist/store/a.script.js` of `test/store/a.script.ts`. Processes run it
 * instead of the TypeScript source, because compiling on the fly takes 0.7 s of processor time in each process.
 *
 * @throws Error if the source is newer than the last `tsc --build`, or a package newer than its bundle
 */
export function builtFile(source: URL): URL {
  requireBundles();
  const path = fileURLToPath(source);
  // Source, package and repository may all be below folders named `test`; the last one holds the sources.
  const [, tests, file] = /^(.*\/test)\/(.*)\.ts$/.exec(path)!;
  const builtAt = statSync(join(tests, 'dist/.tsbuildinfo'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (statSync(path).mtimeMs > builtAt) {
    const shown = relative(repository, path);
    throw new Error(
      `${shown} is newer than its build in ${relative(repository, tests)}/dist. Run \`npm run setup\`.`,
    );
  }
  return pathToFileURL(join(tests, 'dist', `${file}.js`));
}

/** The compiled form of `test/<name>.ts`, relative to the root of the repository; see `builtFile`. */
export function builtScript(name: string): string {
  const built = builtFile(pathToFileURL(join(repository, 'test', `${name}.ts`)));
  return relative(repository, fileURLToPath(built));
}

let areBundled = false;

/** `tsc --build` alone does not update the bundles, which processes load. */
function requireBundles(): void {
  if (areBundled) return;
  const packages = ['native', ...readdirSync(join(repository, 'packages')).map((name) => `packages/${name}`)];
  for (const folder of packages) {
    const dist = join(repository, folder, 'dist');
    const bundledAt = statSync(join(dist, 'bundle'), { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (statSync(join(dist, '.tsbuildinfo')).mtimeMs > bundledAt)
      throw new Error(`${folder}/dist is newer than its bundle. Run \`npm run setup\`.`);
  }
  areBundled = true;
}
