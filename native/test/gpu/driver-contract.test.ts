import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { fakeComputeLibraries } from '../fake-gpu/libraries.ts';

const sources = fileURLToPath(new URL('../../src/', import.meta.url));
const program = fileURLToPath(new URL('driver-contract.cc', import.meta.url));
const parts = [
  ...['cuda', 'cuda_compute', 'device', 'library_search', 'nvrtc', 'stream', 'toolkit_versions'].map(
    (name) => `gpu/${name}.cc`,
  ),
  ...['descriptors', 'dynamic_library', 'failure', 'notifier', 'operation'].map((name) => `base/${name}.cc`),
];

/** Error numbers are those of CUresult. */
const expected = `\
allocate during a global capture, on another thread; end: 900 901
allocate during a thread-local capture, on another thread; on its own; end: 0 900 901
synchronize a captured stream; end: 900 901
end a thread-local capture on another thread; on its own: 908 0
nodes of the graph: 1
end with a fork that was not joined: 904
end in the fork; in the origin; query a captured event: 903 0 907
wait for an event outside; end: 905 901
end; instantiate; launch twice; wait: 0 0 0 0 0
load a cubin for another GPU; garbage: 209 200
elapsed time of an event without timing: 400
the host reads memory of a GPU: crashes
`;

test('the fake driver refuses what CUDA refuses', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-driver-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const binary = join(folder, 'driver-contract');
  // One unit: most of the time of a small file is spent on the headers of the standard library.
  const unit = [...parts, program].map((path) => `#include "${path}"\n`).join('');
  const compiled = spawnSync(
    process.env['CXX'] ?? 'g++',
    ['-std=c++17', '-pthread', `-I${sources}`, '-x', 'c++', '-', '-ldl', '-o', binary],
    { encoding: 'utf8', input: unit },
  );
  expect(compiled.status, compiled.stderr).toBe(0);
  const { stdout, stderr } = spawnSync(binary, {
    encoding: 'utf8',
    env: { ...process.env, ...fakeComputeLibraries() },
    timeout: 60_000,
  });
  expect(stdout, stderr).toBe(expected);
}, 120_000);
