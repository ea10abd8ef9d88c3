import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemOf } from '../../compile/systems.js';

const sources = fileURLToPath(new URL('../../src/', import.meta.url));
const program = fileURLToPath(new URL('driver-contract.cc', import.meta.url));
const parts = [
  ...['cuda', 'cuda_compute', 'device', 'library_search', 'nvrtc', 'stream', 'toolkit_versions'].map(
    (name) => `gpu/${name}.cc`,
  ),
  ...['dynamic_library', 'failure', 'notifier', 'operation'].map((name) => `base/${name}.cc`),
  ...['descriptors', 'dynamic_library'].map((name) => `base/${name}_${systemOf()}.cc`),
];

/** The output of the program. Error numbers are those of CUresult. */
export const driverContract = readFileSync(new URL('driver-contract.txt', import.meta.url), 'utf8');

/**
 * Compiles driver-contract.cc with the addon's files that it uses.
 *
 * @param flags more flags of the compiler
 */
export function compileDriverContract(binary: string, flags: readonly string[] = []): void {
  // One unit: most of the time of a small file is spent on the headers of the standard library.
  const unit = [...parts, program].map((path) => `#include "${path}"\n`).join('');
  const { status, stderr } = spawnSync(
    process.env['CXX'] ?? 'g++',
    ['-std=c++17', '-pthread', ...flags, `-I${sources}`, '-x', 'c++', '-', '-ldl', '-o', binary],
    { encoding: 'utf8', input: unit },
  );
  if (status !== 0) throw new Error(`driver-contract.cc does not compile: ${stderr}`);
}
