import { describe, expect, test } from 'vitest';

import { describeNccl } from '@ringrun/native';

import { whyUnavailable } from '../../src/nccl/availability.ts';
import type { NcclRankInfo } from '../../src/nccl/rank-info.ts';
import { checkRankInfos } from '../../src/nccl/rank-info.ts';
import { chooseDevice } from '../../src/nccl/device.ts';
import { runRanks } from '../support/ranks.ts';
import { fakeGpuLibraries } from '../../../../native/test/fake-gpu/libraries.ts';

const isFake = process.env['RINGRUN_GPU_CHECK'] !== '1';

function formed(size: number, envOf: (rank: number) => NodeJS.ProcessEnv) {
  return runRanks(size, 'forming', {
    envOf: (rank) => ({ ...fakeGpuLibraries(), TEST_BACKEND: 'nccl', ...envOf(rank) }),
  });
}

describe.runIf(isFake)('a group is formed', () => {
  test('by ranks with LOCAL_RANK, by ranks that see one GPU each, and by a rank alone', async () => {
    const sum = { transport: 'nccl', sum: 1 };
    expect(await formed(2, (rank) => ({ LOCAL_RANK: String(rank) }))).toEqual([sum, sum]);
    const alone = (rank: number) => ({ CUDA_VISIBLE_DEVICES: String(rank + 3), LOCAL_RANK: String(rank) });
    expect(await formed(2, alone)).toEqual([sum, sum]);
    expect(await formed(1, () => ({}))).toEqual([{ transport: 'nccl', sum: 0 }]);
  });

  test('refuses ranks that share a GPU, unless NCCL_HOSTID puts them on different hosts', async () => {
    for (const env of [{}, { LOCAL_RANK: '3' }]) {
      for (const report of await formed(2, () => env)) {
        expect(report).toMatchObject({ name: 'InvalidArgumentError' });
        expect(report['message']).toMatch(
          /^rank 0 \(host .*, pid \d+\) and rank 1 \(.*\) would share GPU \d \(fake GPU, GPU-5a.*\), but NCCL needs one GPU for each rank; .* The 2 ranks of host \S+ use 1 GPU: start 1 with --nproc-per-node 1 or auto, .*nvidia\.com\/gpu.*LOCAL_RANK.*gloo may share a GPU$/,
        );
      }
    }
    const reports = await formed(2, (rank) => ({ NCCL_HOSTID: `host ${rank}` }));
    expect(reports.map(({ sum }) => sum)).toEqual([1, 1]);
  });

  test('refuses four ranks on the two GPUs of a host, and names both ranks of the first GPU', async () => {
    const reports = await formed(4, (rank) => ({
      LOCAL_RANK: String(rank),
      RINGRUN_FAKE_GPU_GPUS: '2',
    }));
    for (const { name, message } of reports) {
      expect(name).toBe('InvalidArgumentError');
      expect(message).toMatch(/^rank 0 \(host .*\) and rank 2 \(host .*\) would share GPU 0 /);
      expect(message).toMatch(/The 4 ranks of host \S+ use 2 GPUs: start 2 with --nproc-per-node 2 or auto/);
    }
  });

  test('if a rank has no GPU, driver or recent NCCL, all ranks report that rank and the reason', async () => {
    const lacks: [NodeJS.ProcessEnv, RegExp][] = [
      [{ CUDA_VISIBLE_DEVICES: '' }, /the CUDA driver: the driver sees no GPU/],
      [
        { RINGRUN_CUDA_LIBRARY: '/nowhere/libcuda.so' },
        /libcuda\.so\.1 in \/nowhere\/libcuda\.so \(.*No such file/,
      ],
      [
        { RINGRUN_NCCL_LIBRARY: '/nowhere/libnccl.so' },
        /libnccl\.so\.2 in \/nowhere\/libnccl\.so \(.*No such file/,
      ],
      [{ RINGRUN_FAKE_GPU_FAULT: 'cuInit:1:999' }, /the CUDA driver: cuInit of \S+ failed: .* \(999\)/],
      // libcuda in place of libnccl: none of the functions exist.
      [
        { RINGRUN_NCCL_LIBRARY: fakeGpuLibraries().RINGRUN_CUDA_LIBRARY },
        /libcuda\S* does not report its version/,
      ],
      [{ RINGRUN_FAKE_GPU_NCCL_VERSION: '2708' }, /is NCCL 2\.7\.8, expected 2\.14\.0 or later/],
    ];
    for (const [env, reason] of lacks) {
      const [other, lacking] = await formed(2, (rank) => ({
        LOCAL_RANK: String(rank),
        ...(rank === 1 ? env : {}),
      }));
      for (const report of [other, lacking]) {
        expect(report).toMatchObject({ code: 'ERR_NCCL_UNAVAILABLE' });
        expect(report['message']).toMatch(reason);
        expect(report['message']).toContain('or use backend gloo');
      }
      expect(other['message']).toMatch(/^rank 1 \(host .*\): backend nccl is not available: /);
    }
  });

  test('refuses ranks with two versions of NCCL', async () => {
    const reports = await formed(2, (rank) => ({
      LOCAL_RANK: String(rank),
      RINGRUN_FAKE_GPU_NCCL_VERSION: rank === 0 ? '22105' : '21903',
    }));
    for (const { code, message } of reports) {
      expect(code).toBe('ERR_VERSION_MISMATCH');
      expect(message).toMatch(/has NCCL 2\.21\.5, rank 1 .* has 2\.19\.3: install the same version/);
    }
  });
});

test('tries the dynamic loader first, and reports files that could not be opened', () => {
  const { cuda, nccl } = describeNccl();
  for (const [name, { path, problem, attempts }] of Object.entries({ libcuda: cuda, libnccl: nccl })) {
    if (isFake) expect(attempts[0].place).toBe(name === 'libcuda' ? 'libcuda.so.1' : 'libnccl.so.2');
    expect({ name, isOpen: path !== '' || problem !== '' }).toEqual({ name, isOpen: true });
  }
});

test('a missing library is reported with all paths tried and the variable to set', () => {
  const missing = (problem: string) => ({
    path: '',
    version: '',
    problem,
    attempts: [
      { place: 'one', reason: 'no such file' },
      { place: 'other', reason: 'wrong class' },
    ],
  });
  expect(whyUnavailable({ cuda: missing('no driver'), nccl: missing('no NCCL'), devices: [] })).toBe(
    'the CUDA driver: no driver. Looked for libcuda.so.1 in one (no such file), other (wrong class). Set RINGRUN_CUDA_LIBRARY to use another file; ' +
      'NCCL: no NCCL. Looked for libnccl.so.2 in one (no such file), other (wrong class). Set RINGRUN_NCCL_LIBRARY to use another file',
  );
});

test.runIf(isFake)('describes versions, paths and GPUs if the libraries exist', async () => {
  const [{ found }] = await runRanks(1, 'describedNccl', {
    envOf: () => ({ ...fakeGpuLibraries(), CUDA_VISIBLE_DEVICES: '2' }),
  });
  const { RINGRUN_CUDA_LIBRARY, RINGRUN_NCCL_LIBRARY } = fakeGpuLibraries();
  expect(found).toMatchObject({
    cuda: { path: RINGRUN_CUDA_LIBRARY, version: '13.0', problem: '' },
    nccl: { path: RINGRUN_NCCL_LIBRARY, version: '2.21.5', problem: '' },
    devices: [
      {
        index: 0,
        name: 'fake GPU',
        uuid: 'GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a02',
        pciBusId: '00000000:02:00.0',
        memoryBytes: 2 ** 34,
      },
    ],
  });
});

describe('the GPU of a rank', () => {
  test.each([
    [8, undefined, {}, 0],
    [8, undefined, { LOCAL_RANK: '5' }, 5],
    [1, undefined, { LOCAL_RANK: '5' }, 0],
    [4, 3, { LOCAL_RANK: '1' }, 3],
  ])('of %d, asked for %s, with %o, is %d', (count, asked, env, expected) => {
    expect(chooseDevice(count, asked, env)).toBe(expected);
  });

  test.each([
    [4, 4, {}, /^device is 4, expected a GPU that this process sees: an integer from 0 to 3/],
    [4, -1, {}, /^device is -1/],
    [4, 0.5, {}, /^device is 0.5/],
    [4, undefined, { LOCAL_RANK: 'one' }, /^LOCAL_RANK is 'one', expected/],
    [4, undefined, { LOCAL_RANK: '' }, /^LOCAL_RANK is '', expected/],
  ])('of %d, asked for %s, with %o, is refused', (count, asked, env, message) => {
    expect(() => chooseDevice(count, asked, env)).toThrow(message);
  });
});

test('ranks on different hosts may have GPUs of the same index', () => {
  const info = (rank: number): NcclRankInfo => ({
    rank,
    size: 2,
    host: `node${rank}`,
    pid: 1,
    problem: '',
    gpuProblem: '',
    version: '2.21.5',
    device: { index: 0, name: 'GPU', uuid: `GPU-${rank}` },
    ncclHostId: '',
    uniqueId: '',
  });
  expect(() => {
    checkRankInfos([info(0), info(1)]);
  }).not.toThrow();
  // Patch releases of NCCL's minor version are compatible.
  expect(() => {
    checkRankInfos([info(0), { ...info(1), version: '2.21.6' }]);
  }).not.toThrow();
});
