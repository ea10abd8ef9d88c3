import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { fakeDevice } from '../../../../../native/test/gpu/fake-device.ts';
import { compileStep, F, nn, optim, setDefaultDevice, tensor, type Tensor } from '../../../src/index.ts';
import { executorOn } from '../../../src/executor/cuda/cuda.ts';
import { lowerProgram } from '../../../src/executor/cuda/lower.ts';
import { forGpu } from '../../../src/executor/cuda/rewrites.ts';
import type { Executor, ProgramDefinition } from '../../../src/executor/executor.ts';
import { librarySettings } from '../../../src/executor/precision.ts';
import { setGpuExecutor } from '../../../src/executor/select.ts';
import { manualSeed } from '../../../src/random/generator.ts';
import { fill } from '../../support/fill.ts';
import '../../support/one-thread.ts';

const gpu = executorOn(fakeDevice());

/** Commands of the programs that were compiled for the GPU, without numbers and hashes. */
const commands: string[] = [];
const watching: Executor = {
  ...gpu,
  compile: async (definition: ProgramDefinition) => {
    const { sections } = lowerProgram(forGpu(definition), librarySettings());
    commands.push(...sections.flatMap((section) => section.commands.map(({ name }) => name.split('_')[0])));
    return await gpu.compile(definition);
  },
};
const before = setGpuExecutor(() => watching);
afterAll(() => {
  setGpuExecutor(before);
  setDefaultDevice(undefined);
});
beforeEach(() => {
  commands.length = 0;
});

/** Causal attention of 8 heads of 8 elements, in one projection. */
class Layer extends nn.Module {
  projection = new nn.Linear(64, 3 * 64);
  output = new nn.Linear(64, 64);

  forward(x: Tensor): Tensor {
    const [n, length] = x.shape;
    const [query, key, value] = this.projection
      .forward(x)
      .chunk(3, -1)
      .map((part) => part.view(n, length, 8, 8).transpose(1, 2));
    const attended = F.scaledDotProductAttention(query, key, value, { isCausal: true });
    return this.output.forward(attended.transpose(1, 2).reshape(n, length, 64));
  }
}

/** Losses of a few steps. */
async function train(device: 'cpu' | 'cuda', tokens: number, dtype?: 'bfloat16'): Promise<number[]> {
  manualSeed(7);
  setDefaultDevice(device);
  const model = new Layer();
  const step = compileStep(
    new optim.SGD(model.parameters(), { lr: 3 }),
    (x: Tensor, y: Tensor) => F.mseLoss(model.forward(x).float(), y),
    { autocast: dtype },
  );
  const shape = [2, tokens, 64];
  const batch = [tensor(fill(shape, 1), shape), tensor(fill(shape, 2), shape)] as const;
  const losses: number[] = [];
  for (let i = 0; i < 3; i += 1) losses.push(await (await step(...batch)).item());
  return losses;
}

const isOfAttention = (name: string) =>
  !/^(elementwise\w*|gemm|matmul|sum|reduce\w*|fill|refusals)$/i.test(name);

describe.each([
  ['float32', undefined, 1e-5],
  ['bfloat16', 'bfloat16', 0.01],
] as const)('a step in %s', (_, dtype, tolerance) => {
  test.each([
    {
      tokens: 256,
      expected: [
        ...['readHeads', 'attentionScores', 'weightsOfScores', 'attentionResult', 'writeHeads', 'readHeads'],
        ...['attentionScores', 'attentionSlopes', 'slopesOfScores', 'attentionGradient', 'attentionGradient'],
        ...['attentionGradient', 'writeHeads'],
      ],
    },
    { tokens: 16, expected: ['attend', 'sumsOfQueries', 'queryGradient', 'keyGradient'] },
  ])(
    'of $tokens tokens moves no operand on its own and has the losses of the CPU',
    async ({ tokens, expected }) => {
      const found = await train('cuda', tokens, dtype);
      expect(commands.filter(isOfAttention)).toEqual(expected);
      const losses = await train('cpu', tokens, dtype);
      expect(losses[2]).toBeLessThan(0.99 * losses[0]);
      for (const [place, loss] of losses.entries()) {
        expect(Math.abs(found[place] - loss)).toBeLessThan(tolerance * loss);
      }
    },
  );
});
