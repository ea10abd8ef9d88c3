import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { otherSystem } from './other-system.ts';
import { platformPackage } from './platform.ts';
import { resolved } from './resolved.ts';

/** Version of onnxruntime in the platform packages. */
export const onnxruntimeVersion = '1.30.0';

/** The oldest `onnxruntime-node` whose library is used instead. Its C API has what the addon uses. */
const oldest = { major: 1, minor: 20 };

/** The file of libonnxruntime. `fix`: what to do if it cannot be used. */
export interface FoundOnnxruntime {
  readonly path: string;
  readonly fix: string;
}

/** `isInstalled`: an `onnxruntime-node` that is too old or too new is installed. */
export interface NoOnnxruntime {
  readonly problem: string;
  readonly fix: string;
  readonly isInstalled: boolean;
}

/**
 * Finds libonnxruntime: RINGRUN_ONNXRUNTIME_LIBRARY, the `onnxruntime-node` that the program installed (it may include
 * the CUDA provider), or the library in the addon's platform package. An `onnxruntime-node` of the program is preferred, so
 * that a process that uses both has one library. On Linux the library of the platform package has another SONAME, and macOS
 * distinguishes libraries by their paths, so a program may load any `onnxruntime-node` besides.
 *
 * @param program A module of the program. Default: the main script.
 */
export function findOnnxruntime(program = mainModule()): FoundOnnxruntime | NoOnnxruntime {
  const named = process.env['RINGRUN_ONNXRUNTIME_LIBRARY'];
  if (named) {
    const what = `a libonnxruntime ${onnxruntimeVersion} for ${process.platform} ${process.arch}`;
    return { path: named, fix: `Set RINGRUN_ONNXRUNTIME_LIBRARY to ${what}, or unset it` };
  }
  const known = found.get(program) ?? search(program);
  found.set(program, known);
  return known;
}

/** Cached, because every compilation requests it. */
const found = new Map<string, FoundOnnxruntime | NoOnnxruntime>();

function search(program: string): FoundOnnxruntime | NoOnnxruntime {
  const other = otherSystem();
  if (other !== undefined) return { ...other, isInstalled: false };
  const tried: string[] = [];
  let unsupported: { version: string; folder: string } | undefined;
  for (const from of [program, import.meta.url]) {
    const folder = folderOfPackage(from);
    if (folder === undefined) {
      tried.push(`onnxruntime-node is not installed for ${from}`);
      continue;
    }
    const version = versionOf(folder);
    if (!isSupported(version)) {
      unsupported ??= { version, folder };
      continue;
    }
    const path = libraryIn(folder);
    if (path !== undefined) return { path, fix: `Install it again: remove ${folder}, then run npm install` };
    tried.push(`${folder} has no library for ${process.platform} ${process.arch}`);
  }
  const path = libraryOfPlatform();
  if (path !== undefined)
    return { path, fix: `Install it again: remove ${dirname(path)}, then run npm install` };
  if (unsupported !== undefined) {
    return {
      problem: `expected onnxruntime-node ${oldest.major}.${oldest.minor} or later, got ${unsupported.version} in ${unsupported.folder}`,
      fix: `Run npm install onnxruntime-node@${onnxruntimeVersion}`,
      isInstalled: true,
    };
  }
  tried.push(`${platformPackage()} has none or is not installed`);
  return {
    problem: `expected a library, got none: ${tried.join('; ')}`,
    fix: `Run npm install onnxruntime-node@${onnxruntimeVersion}, or set RINGRUN_ONNXRUNTIME_LIBRARY to a libonnxruntime`,
    isInstalled: false,
  };
}

/** Whether the addon can use the library of this version. Tested with 1.20.1, 1.24.3, 1.27.0 and 1.30.0. */
export function isSupported(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  return major === oldest.major && minor >= oldest.minor;
}

/** Modules that the program can import are looked up from its main script. */
function mainModule(): string {
  return pathToFileURL(process.argv[1] ?? join(process.cwd(), 'index.js')).href;
}

function folderOfPackage(from: string): string | undefined {
  const manifest = resolved(from, 'onnxruntime-node/package.json');
  return manifest && dirname(manifest);
}

/** Absent on musl, for which onnxruntime has no build. */
function libraryOfPlatform(): string | undefined {
  return libraryNames(process.platform)
    .map((name) => resolved(import.meta.url, `${platformPackage()}/${name}`))
    .find((path) => path !== undefined);
}

function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}

/** The names by which the binding of onnxruntime-node opens its library, so that a process has one of them. */
export function libraryNames(platform: NodeJS.Platform): readonly string[] {
  if (platform === 'darwin') return ['libonnxruntime.1.dylib', 'libonnxruntime.dylib'];
  return platform === 'linux' ? ['libonnxruntime.so.1'] : [];
}

/** The package has a folder for each version of Node-API, `bin/napi-v6/linux/x64`. */
function libraryIn(folder: string): string | undefined {
  const bin = join(folder, 'bin');
  if (!existsSync(bin)) return undefined;
  return readdirSync(bin)
    .flatMap((api) =>
      libraryNames(process.platform).map((name) => join(bin, api, process.platform, process.arch, name)),
    )
    .find((path) => existsSync(path));
}
