import { describe, expect, test } from 'vitest';
import { judgeGpuCompute } from '../../../src/commands/doctor/checks/gpu-compute.ts';
import { computeLibraries, judgeComputeLibrary } from '../../../src/commands/doctor/checks/gpu-libraries.ts';
import { judgeGpu } from '../../../src/commands/doctor/checks/gpu.ts';
import { judgeNccl } from '../../../src/commands/doctor/checks/nccl.ts';
import { parseDriverVersion, parseModel } from '../../../src/commands/doctor/gpu-scene.ts';
import type { GpuScene } from '../../../src/commands/doctor/gpu-scene.ts';
import type { OpenedLibrary } from '../../../src/commands/doctor/opened-library.ts';
import { parseGpuUsers } from '../../../src/commands/doctor/gpu-users.ts';
import type { GpuComputeAnswer } from '../../../src/commands/doctor/probes/gpu-compute.ts';
import type { GpusAnswer } from '../../../src/commands/doctor/probes/gpus.ts';
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
  const cuda = opened('/usr/lib/libcuda.so.1', '12.4');
  const usable: GpusAnswer = {
    cuda,
    compute: {
      ...{ problem: '', cuda },
      nvrtc: opened('/usr/lib/libnvrtc.so.12', '12.9'),
      cublasLt: opened('/usr/lib/libcublasLt.so.12', '12.9'),
      cudnn: opened('/usr/lib/libcudnn.so.9', '9.28'),
    },
    nccl: opened('/usr/lib/libnccl.so.2', '2.21.5'),
    devices: [
      { ...device, index: 0 },
      { ...device, index: 1 },
    ],
  };
  const noDriver: GpusAnswer = {
    ...{ cuda: missing('no driver'), nccl: missing('no NCCL'), devices: [] },
    compute: { ...usable.compute, problem: 'no driver', cuda: missing('no driver') },
  };
  const answer = (found: GpusAnswer) => ({ kind: 'answer', answer: found, stderr: '' }) as const;
  const failure = (stderr: string) => ({ kind: 'failure', why: 'it was killed by SIGSEGV', stderr }) as const;
  const none: GpuScene = {
    driver: undefined,
    models: [],
    deviceFiles: [],
    found: answer(noDriver),
    settings: {},
    needsGpu: false,
    sharedMemoryBytes: 64 * 1024 * 1024,
  };
  const two: GpuScene = {
    driver: '550.54.15',
    models: ['NVIDIA H100 80GB HBM3', 'NVIDIA H100 80GB HBM3'],
    deviceFiles: ['nvidia0', 'nvidia1'],
    found: answer(usable),
    settings: {},
    needsGpu: false,
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
      /^problem: .* failed: it was killed by SIGSEGV → .*nvidia-smi.*RINGRUN_CUDA_LIBRARY and the variables of the other libraries to/,
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
      /^warning: the nccl backend cannot be used: no NCCL \(lib.so: no such file; .*\) → pip install nvidia-nccl-cu12, or apt-get install libnccl2 from .*RINGRUN_NCCL_LIBRARY to the file$/,
    );
    const named = { ...two, settings: { RINGRUN_NCCL_LIBRARY: '/opt/lib.so' } };
    expect(words(judgeNccl(named, without))).toMatch(/ → RINGRUN_NCCL_LIBRARY is \/opt\/lib.so, /);
    const small = { ...two, sharedMemoryBytes: 64 * 1024 * 1024 };
    expect(words(judgeNccl(small, usable))).toMatch(/\/dev\/shm, .* has only 67.1 MB → .*medium: Memory/);
    expect(judgeNccl(small, { ...usable, devices: usable.devices.slice(1) }).level).toBe('ok');
  });

  test.each<[string, GpuScene, RegExp]>([
    ['no GPU', none, /^problem: no driver \(.*\), and \/dev\/nvidia0 does not exist/],
    [
      'a driver for CUDA 11',
      {
        ...two,
        found: answer({
          ...usable,
          compute: { ...usable.compute, cuda: { ...cuda, problem: 'the driver is for CUDA 11.4' } },
        }),
      },
      /^problem: 2 GPUs .* models cannot compute there: the driver is for CUDA 11.4 → install driver 525/,
    ],
    ['two GPUs', two, /^ok: 2 GPUs/],
  ])('with --backend nccl: %s', (_, scene, expected) => {
    expect(words(judgeGpu({ ...scene, needsGpu: true }))).toMatch(expected);
  });

  describe('the library', () => {
    const scene = { settings: {}, needsGpu: false };
    const [nvrtc, cublasLt, cudnn] = computeLibraries;
    const without = (key: 'nvrtc' | 'cublasLt' | 'cudnn', driver: string): GpusAnswer => ({
      ...usable,
      compute: { ...usable.compute, cuda: { ...cuda, version: driver }, [key]: missing('not found') },
    });

    test('that is usable is reported with its version and path', () => {
      expect(computeLibraries.map((library) => words(judgeComputeLibrary(library, scene, usable)))).toEqual([
        'ok: NVRTC 12.9, /usr/lib/libnvrtc.so.12',
        'ok: cuBLASLt 12.9, /usr/lib/libcublasLt.so.12',
        'ok: cuDNN 9.28, /usr/lib/libcudnn.so.9',
      ]);
    });

    test.each([
      [
        nvrtc,
        '12.4',
        "'cuda') are errors → pip install nvidia-cuda-nvrtc-cu12, or apt-get install cuda-nvrtc-12-4 from",
      ],
      [
        cublasLt,
        '13.1',
        "'cuda') are errors → pip install nvidia-cublas, or apt-get install libcublas-13-1 from",
      ],
      [
        cudnn,
        '13.0',
        'models with convolutions cannot compute on the GPU → pip install nvidia-cudnn-cu13, or apt-get install libcudnn9-cuda-13 from',
      ],
      [
        cudnn,
        '',
        'cannot compute on the GPU → pip install nvidia-cudnn-cu12, or apt-get install libcudnn9-cuda-12 from',
      ],
    ])('$name is missing beside a driver for CUDA %s', (library, driver, expected) => {
      const found = words(judgeComputeLibrary(library, scene, without(library.key, driver)));
      expect(found).toContain(
        'warning: not found (lib.so: no such file; /opt/lib.so: wrong class). Without it, ',
      );
      expect(found).toContain(expected);
      const required = judgeComputeLibrary(
        library,
        { ...scene, needsGpu: true },
        without(library.key, driver),
      );
      expect(required.level).toBe('problem');
    });

    test('NVRTC that is newer than the driver cannot be used', () => {
      const newer = {
        ...usable,
        compute: { ...usable.compute, nvrtc: opened('/opt/libnvrtc.so.13', '13.0') },
      };
      expect(words(judgeComputeLibrary(nvrtc, scene, newer))).toMatch(
        /^warning: NVRTC 13.0 is newer than the driver, which is for CUDA 12.4 .* → install a driver for CUDA 13 or later, or pip install nvidia-cuda-nvrtc-cu12,/,
      );
    });
  });

  describe('a GPU that computes', () => {
    const right: GpuComputeAnswer = {
      ...{ name: 'NVIDIA H100', capability: [9, 0], freeBytes: 84e9, totalBytes: 85e9, milliseconds: 812 },
      results: [
        { what: 'a kernel', expected: [1, 2], got: [1, 2] },
        { what: 'a product', expected: [3], got: [3] },
      ],
    };
    const gpu = { uuid: 'GPU-1', nvrtc: '12.9', users: undefined };
    const judged = (change: Partial<GpuComputeAnswer>, users?: ReturnType<typeof parseGpuUsers>) =>
      words(
        judgeGpuCompute({
          ...gpu,
          users,
          result: { kind: 'answer', answer: { ...right, ...change }, stderr: '' },
        }),
      );
    const failed = (stderr: string) =>
      words(judgeGpuCompute({ ...gpu, result: { kind: 'failure', why: 'exit code 1', stderr } }));

    test('is reported with its capability, free memory and users', () => {
      const users = parseGpuUsers(
        'GPU-1, 42, 1520, /usr/bin/python3\nGPU-2, 43, 1, other\nGPU-1, 44, [N/A], a, b\nNo running processes found\n',
      );
      expect(judged({})).toBe(
        "ok: NVIDIA H100 (compute capability 9.0), 84 GB of 85 GB free; model.to('cuda') works: a kernel and a product as on the host in 812 ms",
      );
      expect(judged({}, [])).toContain('free; no other process uses it; model');
      expect(judged({}, users)).toContain(
        '; also used by processes 42 (/usr/bin/python3, 1.59 GB), 44 (a, b); model',
      );
      expect(judged({ freeBytes: 2e9 }, users)).toMatch(
        /^warning: .* 2 GB of 85 GB free; also used by .* → end the other/,
      );
    });

    test('that computes something else, or fails, is a problem', () => {
      const wrong = [{ what: 'a product', expected: [3, 4], got: [3, Number.NaN] }];
      expect(judged({ results: wrong })).toMatch(
        /^problem: .*: a product is wrong: element 1 is NaN, expected 4 → /,
      );
      expect(failed('Error: nvrtc: error: invalid value for --gpu-architecture (-arch)')).toMatch(
        /^problem: .*: NVRTC 12.9 does not compile for this GPU → use another version of NVRTC/,
      );
      expect(failed('Error: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory (2)')).toMatch(
        / → end the processes/,
      );
      expect(failed('')).toMatch(/^problem: it does not compute: exit code 1 → run nvidia-smi/);
    });
  });

  test("the driver's version and model lines are parsed", () => {
    const version =
      'NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version:  gcc 12\n';
    const open = 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build\n';
    expect([version, open, ''].map(parseDriverVersion)).toEqual(['550.54.15', '570.86.10', undefined]);
    expect(parseModel('Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   0\n')).toEqual(['NVIDIA A100-SXM4-40GB']);
  });
});
