// Object files, named by a hash of all inputs of their compilation: the compiler, its flags and the text of sources and
// headers. Clones and branches share them, so an unchanged file is compiled once.
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { problemOfOwner, userCache } from '../user-cache.js';

/** One build has 6 MB of objects, or 150 MB with debug information. */
const maxBytes = 512 * 1024 * 1024;

/** The user's cache; `otherwise` if it does not exist or other users could write to it. */
export function objectFolder(otherwise) {
  for (const place of [() => join(userCache(process.env), 'ringrun/objects'), () => otherwise]) {
    try {
      const folder = place();
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      // Marks the folder as in use, and fails in a folder that cannot be written.
      touch(folder);
      if (problemOfOwner(folder) === undefined) return folder;
    } catch {
      // Reject an unwritable folder and try the next one.
    }
  }
  mkdirSync(otherwise, { recursive: true });
  return otherwise;
}

/** True if the object exists, which then counts as just used. */
export function isCached(object) {
  try {
    touch(object);
    return true;
  } catch {
    return false;
  }
}

/** Deletes the least recently used objects beyond the limit. */
export function prune(folder) {
  const files = readdirSync(folder).flatMap((name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    return found?.isFile() ? [{ name, bytes: found.size, usedAt: found.mtimeMs }] : [];
  });
  for (const name of beyondLimit(files, maxBytes)) rmSync(join(folder, name), { force: true });
}

/** Names of the least recently used files, whose removal makes the others fit the limit. */
export function beyondLimit(files, limit) {
  let kept = 0;
  const latestFirst = [...files].sort((a, b) => b.usedAt - a.usedAt);
  return latestFirst.filter(({ bytes }) => (kept += bytes) > limit).map(({ name }) => name);
}

function touch(path) {
  const now = new Date();
  utimesSync(path, now, now);
}
