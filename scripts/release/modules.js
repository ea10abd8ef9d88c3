// Removes the modules of a package that no process loads: the bundles contain them. Threads, loader hooks and preloads run modules
// beside the bundle, and those import others.
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** @param folder The staged package, with the bundles in dist/bundle. */
export function removeUnusedModules(folder) {
  const dist = join(folder, 'dist');
  const modules = readdirSync(dist, { recursive: true })
    .filter((name) => name.endsWith('.js') && !/^(bundle|vendor|commonjs)\//.test(name))
    .map((name) => join(dist, name));
  const used = new Set();
  const add = (file) => {
    if (used.has(file) || !existsSync(file)) return;
    used.add(file);
    for (const path of importsOf(file)) add(join(dirname(file), path));
  };
  for (const file of modules.filter((one) => loadedByUrl(one, modules))) add(file);
  for (const file of commandsIn(folder)) add(file);
  for (const file of modules) if (!used.has(file)) rmSync(file);
}

function commandsIn(folder) {
  const bin = join(folder, 'bin');
  return existsSync(bin) ? readdirSync(bin).map((name) => join(bin, name)) : [];
}

function importsOf(file) {
  return Array.from(
    readFileSync(file, 'utf8').matchAll(/(?:from |import |import\()(['"])(\.[^'"\n]*\.js)\1/g),
    ([, , path]) => path,
  );
}

/**
 * Whether a module passes its own URL to threads, or another one names it relative to itself. Those that name files stay for
 * `check.js`, which looks for the files.
 */
function loadedByUrl(module, modules) {
  if (/\bmodule: import\.meta\.url|\bnew URL\('\.\./.test(readFileSync(module, 'utf8'))) return true;
  return modules.some((other) => namesIn(other).some((name) => name.test(module)));
}

const names = new Map();

/** The paths that a module names relative to itself besides those of its imports; `${…}` is any part of a name. */
function namesIn(file) {
  const known = names.get(file);
  if (known) return known;
  const literals = readFileSync(file, 'utf8').matchAll(
    /(?<!from |import |import\()(['"`])(\.{1,2}\/[^'"`\s]*\.(?:js|\$\{extension\}))\1/g,
  );
  const found = Array.from(literals, ([, , path]) => {
    const parts = join(dirname(file), path).split(/\$\{\w+\}/);
    return new RegExp(`^${parts.map((part) => part.replaceAll(/[.+()[\]]/g, '\\$&')).join('[^/]*')}$`);
  });
  names.set(file, found);
  return found;
}
