import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

/** The C++ sources of a published package: a JSON object of texts by file name, compressed with Brotli. */
export const packedSources = 'sources.json.br';

/**
 * The folder with the C++ sources.
 *
 * @param root Folder of the package.
 * @param buildFolder Where a published package's sources are unpacked, in `src`.
 */
export function sourcesOf(root, buildFolder) {
  const sources = join(root, 'src');
  if (existsSync(sources)) return sources;
  const folder = join(buildFolder, 'src');
  const texts = JSON.parse(brotliDecompressSync(readFileSync(join(root, packedSources))).toString());
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
