import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { architectures, howToFetch, nvidia } from './nvidia-wheels.ts';
import { compileWith } from './nvrtc-report.ts';
import * as kernels from './sources.ts';

// NVIDIA's libraries and headers, without a GPU.

const folder = fileURLToPath(new URL('.', import.meta.url));
const sources = fileURLToPath(new URL('../../src/', import.meta.url));
const shared = fileURLToPath(new URL('../nvidia-headers/', import.meta.url));

/** Output of a program in a process of its own, because a process opens one NVRTC. */
function run(script: string, env: Record<string, string>): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

describe.each([12, 13] as const)('NVRTC of CUDA %i', (major) => {
  const library = nvidia.nvrtc[major];
  const problem = library === undefined ? `was not downloaded: ${howToFetch}` : undefined;

  test.skipIf(problem)(
    `compiles the kernels of the tests without spills${problem ? `: ${problem}` : ''}`,
    async () => {
      const found = await compileWith(library!, new Map(Object.entries(kernels)), architectures);
      expect(found).toHaveLength(3 * architectures.length);
      for (const { source, format, kernels: compiled } of found) {
        expect(format).toBe('ELF');
        expect(compiled.length, source).toBeGreaterThan(0);
        for (const kernel of compiled) expect(kernel).toMatchObject({ spillStores: 0, spillLoads: 0 });
      }
    },
  );
});

const { headers } = nvidia;
const missing = headers.cuda && headers.nvrtc ? undefined : `were not downloaded: ${howToFetch}`;

test.skipIf(missing)(
  `NVIDIA's headers declare what the addon declares${missing ? `: they ${missing}` : ''}`,
  () => {
    const found = [headers.cuda, headers.cudnn].filter((path) => path !== undefined);
    const includes = [`${shared}stubs`, shared, ...found.map((path) => dirname(path)), sources];
    const defines = [headers.cublasLt && '-DHAS_CUBLAS', headers.cudnn && '-DHAS_CUDNN'].filter(
      (define) => define !== undefined,
    );
    const { status, stderr } = spawnSync(
      process.env['CXX'] ?? 'g++',
      [
        ...['-std=c++17', '-fsyntax-only', '-Wno-deprecated-declarations', ...defines],
        ...includes.map((path) => `-I${path}`),
        `${folder}nvidia/headers.cc`,
      ],
      { encoding: 'utf8' },
    );
    expect(status, stderr).toBe(0);
  },
);

const absent =
  nvidia.cublasLt && nvidia.cudnn && nvidia.nvrtc[13] ? undefined : `were not downloaded: ${howToFetch}`;

test.skipIf(absent)(`cuBLASLt and cuDNN load without a driver${absent ? `: they ${absent}` : ''}`, () => {
  const script = `
    import { loadNative } from '../../dist/index.js';
    console.log(JSON.stringify(loadNative().describeGpu()));`;
  const description = JSON.parse(
    run(script, {
      RINGRUN_NVRTC_LIBRARY: nvidia.nvrtc[13]!,
      RINGRUN_CUBLASLT_LIBRARY: nvidia.cublasLt!,
      RINGRUN_CUDNN_LIBRARY: nvidia.cudnn!,
    }),
  ) as unknown;
  expect(description).toMatchObject({
    nvrtc: { version: expect.stringMatching(/^13\./) as string, problem: '' },
    cublasLt: { version: expect.stringMatching(/^13\./) as string, problem: '' },
    cudnn: { version: expect.stringMatching(/^9\./) as string, problem: '' },
  });
});
