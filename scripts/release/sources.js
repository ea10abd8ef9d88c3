// The C++ sources in @ringrun/native, as one compressed file: few platforms compile them. With the headers of Node-API, so
// that the package needs no other packages.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { packedSources } from '../../native/compile/sources.js';

const require = createRequire(new URL('../../native/package.json', import.meta.url));

/** Their headers are among the sources, in the folder in which the compiling script finds those of an npm package. */
const headerPackages = ['node-addon-api', 'node-api-headers'];

/** Whether `name` is part of the packed sources. */
export function isPacked(name) {
  return headerPackages.includes(name);
}

/** @param staged The staged package, whose folder `src` becomes a file. */
export function packSources(staged) {
  const folder = join(staged, 'src');
  const texts = [
    ...filesIn(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
    ...headerPackages.flatMap(textsOfHeaders),
  ];
  const text = JSON.stringify(Object.fromEntries(texts));
  // The highest quality takes 6 s for a tenth less.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: text.length };
  writeFileSync(join(staged, packedSources), brotliCompressSync(text, { params }));
  rmSync(folder, { recursive: true });
}

/** Headers, licence and name of a package. */
function textsOfHeaders(packageName) {
  const folder = dirname(require.resolve(`${packageName}/package.json`));
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const needed = filesIn(folder).filter((file) => /\.h$|^licen[cs]e/i.test(file));
  return [
    ['package.json', JSON.stringify({ name, version, license })],
    ...needed.map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
  ].map(([file, text]) => [`node_modules/${packageName}/${file}`, text]);
}

/** Names relative to `folder`, with `/`. */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .sort();
}
