import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const includeLine = /^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)/gm;

/**
 * Reads sources and all headers that they include. Every `#include "…"` is relative to `folder`; an include in a branch
 * that this platform skips counts too.
 */
export class Includes {
  #folder;
  #files = new Map();

  constructor(folder) {
    this.#folder = folder;
  }

  /** The sources and their headers of `folder`, sorted, with their text; and the library headers. */
  of(sources) {
    const own = new Set();
    const libraries = new Set();
    const waiting = [...sources];
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (own.has(name)) continue;
      own.add(name);
      const file = this.#read(name);
      for (const one of file.libraries) libraries.add(one);
      waiting.push(...file.own);
    }
    const files = [...own].sort().map((name) => ({ name, text: this.#read(name).text }));
    return { files, libraries };
  }

  #read(name) {
    let file = this.#files.get(name);
    if (file === undefined) {
      const text = readFileSync(join(this.#folder, name), 'utf8');
      const found = [...text.matchAll(includeLine)];
      const second = (group) => found.map((match) => match[group]).filter((one) => one !== undefined);
      file = { text, own: second(1), libraries: second(2) };
      this.#files.set(name, file);
    }
    return file;
  }
}
