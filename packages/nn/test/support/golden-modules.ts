import { expect, test } from 'vitest';
import { manualSeed, type nn, type Tensor } from '../../src/index.ts';
import { checkCase, goldenFile, type GoldenCase } from './golden-cases.ts';
import { expectSummary, type Summary } from './summary.ts';

/** The output of `module_cases` in test/golden/common.py. */
interface ModuleCase extends GoldenCase {
  readonly parameters: Readonly<Record<string, Summary>>;
  readonly parameterGradients: Readonly<Record<string, Summary>>;
}

/** A module, and a call of it. */
export type GoldenModule = readonly [module: nn.Module, call: (...inputs: Tensor[]) => Tensor];

export function made<M extends nn.Module>(
  module: M,
  call: (module: M, ...inputs: Tensor[]) => Tensor,
): GoldenModule {
  return [module, (...inputs) => call(module, ...inputs)];
}

/**
 * Tests that parameters after manualSeed(1), outputs and gradients of modules equal those of torch.
 *
 * @param file test/golden/{file}.json
 * @param modules constructors under the names of the file
 */
export function checkGoldenModules(
  file: string,
  modules: Readonly<Record<string, () => GoldenModule>>,
): void {
  const golden = goldenFile(file) as readonly ModuleCase[];

  test.each(golden)('$name: parameters, output and gradients equal those of torch', async (expected) => {
    manualSeed(1);
    const [module, call] = modules[expected.name]();
    const state = module.stateDict();
    expect([...state.keys()].sort()).toEqual(Object.keys(expected.parameters).sort());
    for (const [key, { data }] of state) {
      expectSummary(key, data, expected.parameters[key]);
    }
    await checkCase(expected, { [expected.name]: call });
    const keys = [...state.keys()];
    for (const [position, [, { grad }]] of [...module.namedParameters()].entries()) {
      expectSummary(keys[position], grad!, expected.parameterGradients[keys[position]]);
    }
  });

  test(`every module of ${file}.py is tested`, () => {
    expect(golden.map(({ name }) => name)).toEqual(Object.keys(modules));
  });
}
