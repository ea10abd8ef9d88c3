// When files were written, to find out whether what is made of them is older.
import { statSync } from 'node:fs';

/** In milliseconds. */
export function newest(paths) {
  return Math.max(...paths.map((path) => statSync(path).mtimeMs));
}

/** In milliseconds; 0 if one of the files is missing. */
export function oldest(paths) {
  return Math.min(...paths.map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0));
}
