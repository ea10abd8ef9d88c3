import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { howToInstall, whyGpuIsUnusable } from '@ringrun/native';
import type { GpuDescription } from '@ringrun/native';
import { fakeComputeLibraries } from './fake-gpu/libraries.ts';

const built = new URL('../dist/index.js', import.meta.url).href;

const all = ['nvrtc', 'cublasLt', 'cudnn', 'nccl'] as const;

describe('the commands that install libraries', () => {
  test.each([
    ['', '-cu12', '12-0', 12],
    ['11.4', '-cu12', '12-0', 12],
    ['12.8', '-cu12', '12-8', 12],
    ['13.1', '', '13-1', 13],
    ['14.0', '', '13-0', 13],
  ])('of a driver for CUDA %s name packages that it supports', (version, suffix, dashed, major) => {
    const pip = `nvidia-cuda-nvrtc${suffix} nvidia-cublas${suffix} nvidia-cudnn-cu${major} nvidia-nccl-cu${major}`;
    const apt = `cuda-nvrtc-${dashed} libcublas-${dashed} libcudnn9-cuda-${major} libnccl2`;
    expect(howToInstall(all, version)).toMatch(
      new RegExp(
        `^pip install ${pip}, or apt-get install ${apt} from NVIDIA's repository .* image of deploy/Dockerfile\\.gpu$`,
      ),
    );
  });
});

describe('the reason why a process cannot compute on a GPU', () => {
  const found = { path: '/lib.so', version: '13.0', problem: '', attempts: [] };
  const missing = { path: '', version: '', problem: 'not found', attempts: [] };
  const usable: GpuDescription = { problem: '', cuda: found, nvrtc: found, cublasLt: found, cudnn: found };

  test('names missing libraries with their packages, and cuDNN beside others', () => {
    expect(whyGpuIsUnusable(usable)).toBeUndefined();
    expect(
      whyGpuIsUnusable({ ...usable, problem: 'NVRTC: not found', nvrtc: missing, cudnn: missing }),
    ).toMatch(
      /^NVRTC: not found\. Run pip install nvidia-cuda-nvrtc nvidia-cudnn-cu13, or apt-get install cuda-nvrtc-13-0 libcudnn9-cuda-13 from/,
    );
  });

  test('has no packages if the driver is missing or a library is broken', () => {
    expect(
      whyGpuIsUnusable({ ...usable, problem: 'the CUDA driver: none', cuda: missing, nvrtc: missing }),
    ).toBe('the CUDA driver: none');
    const old = { ...found, problem: 'too old' };
    expect(whyGpuIsUnusable({ ...usable, problem: 'NVRTC: too old', nvrtc: old })).toBe('NVRTC: too old');
  });
});

test.each(['VIRTUAL_ENV', 'CONDA_PREFIX', 'HOME'])(
  'wheels that pip installed are found below %s',
  (variable) => {
    const root = mkdtempSync(join(tmpdir(), 'ringrun-wheels-'));
    onTestFinished(() => {
      rmSync(root, { recursive: true });
    });
    const { RINGRUN_NVRTC_LIBRARY, ...others } = fakeComputeLibraries();
    // The first file name that is searched, so that libraries of this machine do not come before it.
    const folder = join(
      root,
      variable === 'HOME' ? '.local' : '',
      'lib/python3.12/site-packages/nvidia/cu13/lib',
    );
    mkdirSync(folder, { recursive: true });
    symlinkSync(RINGRUN_NVRTC_LIBRARY, join(folder, 'libnvrtc.so.13'));
    const describe =
      'import(process.argv[1]).then(({ describeGpu }) => console.log(describeGpu().nvrtc.path))';
    const { stdout, stderr } = spawnSync(process.execPath, ['--eval', describe, built], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], ...others, [variable]: root },
      timeout: 30_000,
    });
    expect(stdout.trim(), stderr).toBe(join(folder, 'libnvrtc.so.13'));
  },
);
