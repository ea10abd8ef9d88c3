import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { architectures, howToFetch, nvidia } from '../../../../../native/test/gpu/nvidia-wheels.ts';
import { compileWith, problemsOf } from '../../../../../native/test/gpu/nvrtc-report.ts';
import { elementwisePrelude } from '../../../src/executor/cuda/elementwise-operators.ts';
import { allKernels } from '../../../src/executor/cuda/kernels/index.ts';

// NVIDIA's NVRTC compiles the kernels without a GPU: see `npm run test:nvrtc`.

const isAsked = process.env['RINGRUN_NVRTC'] === 'full';

/** A folder of sources that the fake NVRTC has compiled (RINGRUN_FAKE_NVRTC_SOURCES). Default: none. */
const collected = process.env['RINGRUN_NVRTC_SOURCES'];

describe.skipIf(!isAsked).each([12, 13] as const)('NVRTC of CUDA %i', (major) => {
  const library = nvidia.nvrtc[major];
  const problem = library === undefined ? `: it was not downloaded, ${howToFetch}` : '';

  test.skipIf(problem)(
    `compiles all hand-written kernels without local memory${problem}`,
    () => {
      const sources = new Map(allKernels.map(({ file, source }) => [file, source]));
      expect(new Set(sources.values())).toEqual(new Set(allKernels.map(({ source }) => source)));
      const found = compileWith(library!, sources, architectures);
      expect(found).toHaveLength(sources.size * architectures.length);
      const names = new Set(found.flatMap(({ kernels }) => kernels.map(({ name }) => name)));
      expect(names).toEqual(new Set(allKernels.map(({ name }) => name)));
      expect(problemsOf(found)).toEqual([]);
    },
    600_000,
  );

  test.skipIf(problem || collected === undefined)(
    'compiles the kernels that tests generated without local memory',
    () => {
      const { modules, kernels } = modulesOf(collected!);
      const found = compileWith(library!, modules, architectures);
      for (const architecture of architectures) {
        const compiled = found.filter((one) => one.architecture === architecture);
        expect(compiled.flatMap((one) => one.kernels)).toHaveLength(kernels);
      }
      process.stderr.write(`NVRTC ${major}: ${kernels} generated kernels in ${modules.size} modules\n`);
      expect(problemsOf(found)).toEqual([]);
    },
    3_600_000,
  );
});

/** A generated kernel, with the structs before it. Its body is indented. */
const generatedKernel =
  /(?:struct \w+ \{[^}]*\};\n)*extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\([^{]*\{\n[\s\S]*?\n\}\n/g;

const kernelsOfModule = 200;

/** The generated kernels of a folder, each once, in few modules: a compilation of one kernel costs as much as that of 50. */
function modulesOf(folder: string): { modules: ReadonlyMap<string, string>; kernels: number } {
  const kernels = new Map<string, string>();
  for (const file of readdirSync(folder)) {
    const source = readFileSync(join(folder, file), 'utf8');
    if (!source.startsWith(elementwisePrelude)) continue;
    for (const [text, name] of source.slice(elementwisePrelude.length).matchAll(generatedKernel)) {
      kernels.set(name, text);
    }
  }
  const texts = [...kernels.values()];
  const modules = new Map<string, string>();
  for (let begin = 0; begin < texts.length; begin += kernelsOfModule) {
    const some = texts.slice(begin, begin + kernelsOfModule);
    modules.set(`generated-${begin}.cu`, [elementwisePrelude, ...some].join('\n'));
  }
  return { modules, kernels: texts.length };
}
