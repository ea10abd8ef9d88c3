import type { NcclDescription } from '@ringrun/collectives';
import { describe, expect, test } from 'vitest';
import { judgeCudaProvider } from '../../../src/commands/doctor/checks/cuda-provider.ts';
import { judgeGpu } from '../../../src/commands/doctor/checks/gpu.ts';
import { judgeNccl } from '../../../src/commands/doctor/checks/nccl.ts';
import { parseDriverVersion, parseModel } from '../../../src/commands/doctor/gpu-scene.ts';
import type { GpuScene } from '../../../src/commands/doctor/gpu-scene.ts';
import type { OpenedLibrary } from '../../../src/commands/doctor/opened-library.ts';
import { words } from './words.ts';

describe('GPUs', () => {
  const opened = (path: string, version: string): OpenedLibrary => ({
    path,
    version,
    problem: '',
    attempts: [{ place: path, reason: '' }],
  });
  const missing = (problem: string): OpenedLibrary => ({
    path: '',
    version: '',
    problem,
    attempts: [
      { place: 'lib.so', reason: 'lib.so: no such file' },
      { place: '/opt/lib.so', reason: 'wrong class' },
    ],
  });
  const device = { name: 'NVIDIA H100 80GB HBM3', uuid: 'GPU-0', pciBusId: '', memoryBytes: 85e9 };
  const usable: NcclDescription = {
    cuda: opened('/usr/lib/libcuda.so.1', '12.4'),
    nccl: opened('/usr/lib/libnccl.so.2', '2.21.5'),
    devices: [
      { ...device, index: 0 },
      { ...device, index: 1 },
    ],
  };
  const noDriver: NcclDescription = { cuda: missing('no driver'), nccl: missing('no NCCL'), devices: [] };
  const answer = (found: NcclDescription) => ({ kind: 'answer', answer: found, stderr: '' }) as const;
  const failure = (stderr: string) => ({ kind: 'failure', why: 'it was killed by SIGSEGV', stderr }) as const;
  const none: GpuScene = {
    driver: undefined,
    models: [],
    deviceFiles: [],
    found: answer(noDriver),
    settings: {},
    sharedMemoryBytes: 64 * 1024 * 1024,
  };
  const two: GpuScene = {
    driver: '550.54.15',
    models: ['NVIDIA H100 80GB HBM3', 'NVIDIA H100 80GB HBM3'],
    deviceFiles: ['nvidia0', 'nvidia1'],
    found: answer(usable),
    settings: {},
    sharedMemoryBytes: 2 ** 31,
  };
  const unusable = (problem: string) => answer({ ...usable, cuda: { ...usable.cuda, problem }, devices: [] });

  test.each<[string, GpuScene, RegExp]>([
    ['no GPU', none, /^ok: no GPU found: training runs on the CPU$/],
    ['no GPU and no addon', { ...none, found: failure('NativeUnavailableError: …') }, /^ok: no GPU found/],
    [
      'a variable that names a missing library',
      { ...none, settings: { RINGRUN_CUDA_LIBRARY: '/opt/lib.so' } },
      /^warning: no driver \(lib.so: no such file; \/opt\/lib.so: wrong class\), and \/dev\/nvidia0 does not exist: .* → RINGRUN_CUDA_LIBRARY is \/opt\/lib.so, so no other path is searched/,
    ],
    [
      'a driver without a GPU',
      { ...two, deviceFiles: [], models: [], found: answer(noDriver) },
      /^warning: the driver 550.54.15 is installed, but there is no GPU: .* → .*nvidia\.com\/gpu: 1/,
    ],
    [
      'GPUs whose driver library is not in the container',
      { ...two, found: answer(noDriver) },
      /^problem: 2 GPUs \(.*H100.*\), but no driver \(lib.so: no such file; .*\) → .*NVIDIA_DRIVER_CAPABILITIES.*RINGRUN_CUDA_LIBRARY to the file$/,
    ],
    [
      'GPUs that are hidden',
      { ...two, found: unusable('the driver sees no GPU'), settings: { CUDA_VISIBLE_DEVICES: '' } },
      /^warning: 2 GPUs .* cannot be used: the driver sees no GPU → unset CUDA_VISIBLE_DEVICES, which is ''/,
    ],
    [
      'a library of another version than the kernel module',
      { ...two, found: unusable('cuInit of /usr/lib/libcuda.so.1 failed: (803)') },
      /^problem: 2 GPUs .* cannot be used: cuInit of .*803\) → run nvidia-smi .*RINGRUN_CUDA_LIBRARY/,
    ],
    [
      'a driver that crashes',
      { ...two, found: failure('') },
      /^problem: .* failed: it was killed by SIGSEGV → .*nvidia-smi.*RINGRUN_CUDA_LIBRARY and RINGRUN_NCCL_LIBRARY to/,
    ],
    ['the same without a GPU', { ...none, found: failure('') }, /^warning: .* SIGSEGV → /],
    [
      'GPUs and their driver',
      two,
      /^ok: 2 GPUs \(2 × NVIDIA H100 80GB HBM3 of 85 GB\), driver 550.54.15 with CUDA 12.4, \/usr\/lib\/libcuda.so.1$/,
    ],
    [
      // WSL has neither /dev/nvidia0 nor /proc/driver/nvidia.
      'GPUs that only the driver knows',
      { ...two, driver: undefined, models: [], deviceFiles: [] },
      /^ok: 2 GPUs .*, driver of unknown version with CUDA 12.4/,
    ],
  ])('%s', (_, scene, expected) => {
    expect(words(judgeGpu(scene))).toMatch(expected);
  });

  test('NCCL needs its library, and shared memory if a host has several GPUs', () => {
    expect(words(judgeNccl(two, usable))).toBe('ok: NCCL 2.21.5, /usr/lib/libnccl.so.2');
    const without = { ...usable, nccl: missing('no NCCL') };
    expect(words(judgeNccl(two, without))).toMatch(
      /^warning: the nccl backend cannot be used: no NCCL \(lib.so: no such file; .*\) → apt-get install libnccl2 .*RINGRUN_NCCL_LIBRARY to the file$/,
    );
    const named = { ...two, settings: { RINGRUN_NCCL_LIBRARY: '/opt/lib.so' } };
    expect(words(judgeNccl(named, without))).toMatch(/ → RINGRUN_NCCL_LIBRARY is \/opt\/lib.so, /);
    const small = { ...two, sharedMemoryBytes: 64 * 1024 * 1024 };
    expect(words(judgeNccl(small, usable))).toMatch(/\/dev\/shm, .* has only 67.1 MB → .*medium: Memory/);
    expect(judgeNccl(small, { ...usable, devices: usable.devices.slice(1) }).level).toBe('ok');
  });

  test('a missing CUDA provider of onnxruntime is a warning with the missing library', () => {
    const stderr =
      'node:internal\n\nError: Failed to load shared library: libcudnn.so.9: cannot open\n    at x.js:1:1';
    expect(words(judgeCudaProvider({ kind: 'failure', why: 'exit code 1', stderr }))).toMatch(
      /^warning: .*GPU: Error: Failed to load shared library: libcudnn.so.9: cannot open → .*onnxruntime-node-install=cuda12/,
    );
  });

  test("the driver's version and model lines are parsed", () => {
    const version =
      'NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version:  gcc 12\n';
    const open = 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build\n';
    expect([version, open, ''].map(parseDriverVersion)).toEqual(['550.54.15', '570.86.10', undefined]);
    expect(parseModel('Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   0\n')).toEqual(['NVIDIA A100-SXM4-40GB']);
  });
});
