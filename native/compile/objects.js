import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { compileFlags, make } from './compiler.js';
import { Includes } from './includes.js';
import { isCached } from './object-cache.js';
import { isOfSystem } from './systems.js';
import { unitsOf } from './units.js';

/** The object files of a folder of sources, for one compiler and its flags. */
export class Objects {
  #sources;
  #compiler;
  #folder;
  #flags = compileFlags();

  /**
   * @param sources Folder of the sources.
   * @param folder Folder of the objects.
   */
  constructor(sources, compiler, folder) {
    this.#sources = sources;
    this.#compiler = compiler;
    this.#folder = folder;
  }

  /**
   * Compiles the units that have no object.
   *
   * @param isSelected Selects units by the names of the libraries' headers that they include.
   * @param again If true, compiles all of them again.
   * @returns The objects, and the number of compiled files.
   */
  async update({ isSelected = () => true, again = false } = {}) {
    let compiled = 0;
    for (let isFirst = true; ; isFirst = false) {
      const includes = new Includes(this.#sources);
      const units = unitsOf(this.#sourceFiles()).filter((unit) => isSelected(includes.of(unit).libraries));
      const jobs = units.map((unit) => this.#jobOf(unit, includes));
      const missing = jobs.filter(({ object }) => (again && isFirst) || !isCached(object));
      // Files that change while they are compiled are compiled again.
      if (missing.length === 0) return { objects: jobs.map(({ object }) => object), compiled };
      await this.#compileAll(missing);
      compiled += missing.reduce((sum, { unit }) => sum + unit.length, 0);
    }
  }

  #sourceFiles() {
    return readdirSync(this.#sources, { recursive: true })
      .filter((name) => name.endsWith('.cc') && isOfSystem(name))
      .map((name) => ({
        name: name.replaceAll(sep, '/'),
        bytes: statSync(join(this.#sources, name)).size,
      }));
  }

  /** A unit, and its object: named by a hash of everything that determines its bytes. */
  #jobOf(unit, includes) {
    const { files, libraries } = includes.of(unit);
    const node = libraries.has('napi.h') ? nodeHeaders(this.#sources) : { flags: [], versions: [] };
    const compiler = [this.#compiler.name, this.#compiler.version, process.platform, process.arch];
    // The user's flags may request debug information, which contains source paths.
    const sourcesAt = process.env.CXXFLAGS ? this.#sources : '';
    const parts = [compiler, this.#flags, sourcesAt, node.versions, unit, files];
    const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
    return {
      unit,
      object: join(this.#folder, `${hash.slice(0, 32)}.o`),
      flags: [...this.#flags, `-I${this.#sources}`, ...node.flags],
      characters: files.reduce((sum, { text }) => sum + text.length, 0),
    };
  }

  /** Starts with the units that include the most, because they take longest. */
  async #compileAll(jobs) {
    const waiting = [...jobs].sort((a, b) => b.characters - a.characters);
    const worker = async () => {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await this.#compile(job);
    };
    await Promise.all(Array.from({ length: Math.min(availableParallelism(), 8) }, worker));
  }

  /** Compiles a unit as one file that includes its sources. */
  async #compile({ unit, object, flags }) {
    const file = `${object}.${process.pid}.cc`;
    writeFileSync(file, unit.map((name) => `#include "${name}"\n`).join(''));
    const isCurrent = () => this.#jobOf(unit, new Includes(this.#sources)).object === object;
    try {
      await make(object, this.#compiler, [...flags, '-c', file], isCurrent);
    } finally {
      rmSync(file, { force: true });
    }
  }
}

/** The headers of Node-API: flags with their folders, and their versions. Unpacked sources contain them. */
function nodeHeaders(sources) {
  const require = createRequire(join(sources, 'package.json'));
  const [addonApi, headers] = ['node-addon-api', 'node-api-headers'].map((name) => {
    const manifest = require.resolve(`${name}/package.json`);
    return { folder: dirname(manifest), version: JSON.parse(readFileSync(manifest, 'utf8')).version };
  });
  return {
    flags: ['-isystem', addonApi.folder, '-isystem', join(headers.folder, 'include')],
    versions: [addonApi.version, headers.version],
  };
}
