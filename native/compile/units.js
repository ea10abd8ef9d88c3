import { dirname } from 'node:path/posix';

/**
 * Folders whose files, and those of their subfolders, are compiled one by one. They do the arithmetic: what the compiler
 * inlines, and so how it contracts products and sums, must not depend on other files. They also take longest, because of
 * vector code rather than headers.
 */
const compiledAlone = ['operators', 'reduce', 'images'];

/** A unit of this size is recompiled in about 3 s after a change of one of its files. */
const maxUnitBytes = 32 * 1024;

/**
 * Groups sources into units, each compiled as one file that includes the sources. Most of the compile time of a small file is
 * spent on the headers of the standard library and of node-addon-api, which a unit reads once. The files of a unit are in one
 * folder, so names in unnamed namespaces must differ within a folder.
 *
 * @param sources Names relative to native/src, with `/`, and sizes.
 */
export function unitsOf(sources) {
  const units = [];
  const sorted = [...sources].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const [folder, files] of groupBy(sorted, ({ name }) => dirname(name))) {
    const limit = compiledAlone.includes(folder.split('/')[0]) ? 0 : maxUnitBytes;
    let unit;
    for (const { name, bytes } of files) {
      if (unit === undefined || unit.bytes + bytes > limit) units.push((unit = { sources: [], bytes: 0 }));
      unit.sources.push(name);
      unit.bytes += bytes;
    }
  }
  return units.map(({ sources }) => sources);
}

function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (groups.has(key)) groups.get(key).push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
