import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { NnError } from '../errors.ts';

/**
 * Path of libonnxruntime: RINGRUN_ONNXRUNTIME_LIBRARY, the `onnxruntime-node` that the program installed (it may include
 * the CUDA provider), or the one that this package depends on.
 *
 * @throws NnError (`ERR_EXECUTOR`) that lists the places
 */
export function onnxruntimeLibrary(): string {
  const named = process.env['RINGRUN_ONNXRUNTIME_LIBRARY'];
  if (named) return named;
  return (found ??= findLibrary());
}

/** Kept, because every compilation asks for it. */
let found: string | undefined;

function findLibrary(): string {
  const tried: string[] = [];
  for (const from of [programUrl(), import.meta.url]) {
    const folder = packageFolder(from);
    const library = folder && libraryIn(folder);
    if (library) return library;
    tried.push(
      folder ? `${folder} has no library for ${process.platform} ${process.arch}` : `not found from ${from}`,
    );
  }
  throw new NnError(
    'ERR_EXECUTOR',
    `onnxruntime: expected the package onnxruntime-node, got none: ${tried.join('; ')}. Run npm install onnxruntime-node, or set RINGRUN_ONNXRUNTIME_LIBRARY to a libonnxruntime.`,
  );
}

/** Modules that the program can import are looked up from its main script. */
function programUrl(): string {
  return pathToFileURL(process.argv[1] ?? join(process.cwd(), 'index.js')).href;
}

function packageFolder(from: string): string | undefined {
  try {
    return dirname(createRequire(from).resolve('onnxruntime-node/package.json'));
  } catch {
    return undefined;
  }
}

const fileNames: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ['libonnxruntime.so.1'],
  darwin: ['libonnxruntime.1.dylib', 'libonnxruntime.dylib'],
};

/** The package has a folder for each version of Node-API, `bin/napi-v6/linux/x64`. */
function libraryIn(folder: string): string | undefined {
  const bin = join(folder, 'bin');
  if (!existsSync(bin)) return undefined;
  return readdirSync(bin)
    .flatMap((api) =>
      (fileNames[process.platform] ?? []).map((name) => join(bin, api, process.platform, process.arch, name)),
    )
    .find((path) => existsSync(path));
}
