import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runRanks } from '../support/ranks.ts';
import { fakeGpuLibraries } from '../../../../native/test/fake-gpu/libraries.ts';

// NVIDIA's library on a machine without a GPU: `pip download nvidia-nccl-cu12`, unpack the wheel, and set
// RINGRUN_NCCL_LIBRARY to its nvidia/nccl/lib/libnccl.so.2.
const library = process.env['RINGRUN_NCCL_LIBRARY'] ?? '';
const hasDriver = existsSync('/dev/nvidiactl');
const problem =
  library === ''
    ? 'RINGRUN_NCCL_LIBRARY is not set'
    : hasDriver
      ? 'this machine has a GPU: scripts/gpu-check.sh tests with it'
      : undefined;

const sources = fileURLToPath(new URL('../../../../native/src/', import.meta.url));
const folder = fileURLToPath(new URL('real-library/', import.meta.url));
const shared = fileURLToPath(new URL('../../../../native/test/nvidia-headers/', import.meta.url));
const headers = join(dirname(library), '../include');

/** Compiles and runs the comparison with nccl.h. Returns the version of the header. */
function versionOfComparedHeader(): string {
  const built = mkdtempSync(join(tmpdir(), 'ringrun-nccl-'));
  onTestFinished(() => {
    rmSync(built, { recursive: true });
  });
  const program = join(built, 'header');
  const parts = ['nccl/nccl.cc', 'gpu/library_search.cc', 'base/dynamic_library.cc', 'base/failure.cc'];
  const includes = [join(shared, 'stubs'), shared, headers, sources].map((path) => `-I${path}`);
  const files = [join(folder, 'header.cc'), ...parts.map((part) => join(sources, part))];
  const flags = ['-std=c++17', '-pthread', ...includes, ...files, '-ldl', '-o', program];
  const compiled = spawnSync(process.env['CXX'] ?? 'g++', flags, { encoding: 'utf8' });
  expect(compiled.status, compiled.stderr).toBe(0);
  const { status, stdout, stderr } = spawnSync(program, { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  return stdout;
}

describe.skipIf(problem)(`NVIDIA's NCCL${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('has the structs, enums and signatures of the binding, and every function', async () => {
    const version = versionOfComparedHeader();
    const [{ found }] = await runRanks(1, 'describedNccl', {
      envOf: () => ({ RINGRUN_NCCL_LIBRARY: library }),
    });
    expect(found).toMatchObject({ nccl: { path: library, version, problem: '' } });
  });

  test('without a driver is refused on every rank, with the file that is missing', async () => {
    const reports = await runRanks(2, 'forming', {
      envOf: () => ({ TEST_BACKEND: 'nccl', RINGRUN_NCCL_LIBRARY: library }),
    });
    for (const report of reports) {
      expect(report).toMatchObject({ code: 'ERR_NCCL_UNAVAILABLE' });
      expect(report['message']).toMatch(
        /the CUDA driver: libcuda\.so\.1 could not be opened\. .*Install NVIDIA's driver/,
      );
      expect(report['message']).not.toContain('NCCL: ');
    }
  });

  test('creates a unique id; with a fake driver, its error names the call, the rank and the GPU', async () => {
    const { RINGRUN_CUDA_LIBRARY } = fakeGpuLibraries();
    const reports = await runRanks(2, 'forming', {
      envOf: (rank) => ({
        ...{ TEST_BACKEND: 'nccl', LOCAL_RANK: String(rank) },
        ...{ RINGRUN_CUDA_LIBRARY, RINGRUN_NCCL_LIBRARY: library },
      }),
    });
    for (const [rank, report] of reports.entries()) {
      expect(report).toMatchObject({ code: 'ERR_SYSTEM' });
      expect(report['message']).toContain(
        `ncclCommInitRankConfig (rank ${rank} of 2 on GPU ${rank}): unhandled cuda error`,
      );
      expect(report['message']).toMatch(/Cuda failure '.*driver/);
    }
  });
});
