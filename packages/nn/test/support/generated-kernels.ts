import { expect } from 'vitest';
import { architectures } from '../../../../native/test/gpu/nvidia-wheels.ts';
import { compileWith, problemsOf } from '../../../../native/test/gpu/nvrtc-report.ts';
import { elementwisePrelude } from '../../src/executor/cuda/elementwise-operators.ts';

/**
 * NVIDIA's sinf, cosf and tanf reduce large arguments in an array of the stack, of this many bytes with NVRTC 12. The few kernels that
 * call them cannot avoid it.
 */
const reduction = { functions: /\b(?:sin|cos|tan)f\(/, bytes: 32 };

/**
 * Compiles generated kernels with an NVRTC of NVIDIA for every architecture, and prints their number. Fails if one of them uses local
 * memory that it can avoid, or has a warning.
 *
 * @param library path of libnvrtc
 * @param label of the CUDA version, and of what has generated them
 * @param kernels sources by name
 */
export async function expectCleanKernels(
  library: string,
  label: string,
  kernels: ReadonlyMap<string, string>,
): Promise<void> {
  const modules = modulesOf(kernels);
  const found = await compileWith(library, modules, architectures);
  for (const architecture of architectures) {
    const compiled = found.filter((one) => one.architecture === architecture).flatMap((one) => one.kernels);
    expect(new Set(compiled.map(({ name }) => name))).toEqual(new Set(kernels.keys()));
    process.stderr.write(
      `${label}, sm_${architecture}: ${compiled.length} kernels in ${modules.size} modules\n`,
    );
  }
  const avoidable = found.map((compilation) => ({
    ...compilation,
    kernels: compilation.kernels.filter(({ name, stackBytes, spillStores }) => {
      const reduces = reduction.functions.test(kernels.get(name)!);
      return !reduces || stackBytes > reduction.bytes || spillStores > 0;
    }),
  }));
  expect(problemsOf(avoidable)).toEqual([]);
}

/**
 * Few modules, because a compilation of one kernel costs as much as that of 50. The hash in its name decides on the module of a
 * kernel, so that a new kernel changes one module.
 */
function modulesOf(kernels: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const modules = new Map<string, string>();
  for (const [name, source] of [...kernels].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const module = `generated-${name.slice(name.lastIndexOf('_') + 1).charAt(0)}.cu`;
    modules.set(module, `${modules.get(module) ?? elementwisePrelude}\n${source}`);
  }
  return modules;
}
