// Compiles the addon for every target with zig, a C and C++ cross compiler with the headers of every libc
// (`pip install ziglang`).
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const build = join(root, 'native/build.js');
const exportsMap = fileURLToPath(new URL('exports.map', import.meta.url));

/** The command that runs zig: $ZIG, `zig`, or Python's package. */
export function findZig() {
  const candidates = process.env.ZIG ? [process.env.ZIG] : ['zig', 'python3 -m ziglang'];
  const found = candidates.find((candidate) => {
    const [command, ...first] = candidate.split(' ');
    return spawnSync(command, [...first, 'version']).status === 0;
  });
  if (found) return found;
  throw new Error(
    `no zig found: tried ${candidates.join(', ')}. Install it with "pip install ziglang==0.17.1", or name it in ZIG.`,
  );
}

/** Path of the compiled binary of a target. */
export function binaryOf(target) {
  return join(folderOf(target), 'ringrun.node');
}

/** Links libc++ and libunwind statically; libc, libm, libpthread and libdl, or libSystem, are the system's. */
export function compileFor(target, zig) {
  const folder = folderOf(target);
  mkdirSync(folder, { recursive: true });
  const { status, error } = spawnSync(process.execPath, [build, '--into', folder], {
    // `zig c++ -target … --version` leaves an empty a.o in the current folder.
    cwd: folder,
    stdio: ['ignore', 2, 2],
    env: {
      ...process.env,
      CXX: `${zig} c++ -target ${target.triple}`,
      CXXFLAGS: '',
      LDFLAGS: linkFlagsOf(target).join(' '),
      RINGRUN_SYSTEM: target.os === 'linux' ? 'linux' : 'posix',
    },
  });
  if (status !== 0)
    throw new Error(`compiling the addon for ${target.name} failed: ${error ?? `exit code ${status}`}`);
}

/**
 * On macOS the loader finds the functions of Node-API in the process. Hidden symbols, as those of libc++, are not exported. On
 * Linux, inline functions that all callers have inlined would take 0.3 MB without `--gc-sections`.
 */
function linkFlagsOf({ os }) {
  return os === 'darwin'
    ? ['-s', '-undefined', 'dynamic_lookup']
    : ['-s', '-Wl,--gc-sections', `-Wl,--version-script=${exportsMap}`];
}

function folderOf(target) {
  return join(root, 'native/build/release', target.name);
}
