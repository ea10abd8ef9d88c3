import { afterAll, describe, expect, test, vi } from 'vitest';
import { fakeDevice } from '../../../../../native/test/gpu/fake-device.ts';
import {
  compileStep,
  F,
  nn,
  optim,
  ones,
  setDefaultDevice,
  tensor,
  type Tensor,
} from '../../../src/index.ts';
import { differentiate } from '../../../src/compiler/differentiate.ts';
import { isFloat } from '../../../src/dtype.ts';
import { onnxruntimeExecutor } from '../../../src/executor/cpu/onnxruntime.ts';
import { executorOn } from '../../../src/executor/cuda/cuda.ts';
import { lowerProgram } from '../../../src/executor/cuda/lower.ts';
import { forGpu } from '../../../src/executor/cuda/rewrites.ts';
import { librarySettings } from '../../../src/executor/precision.ts';
import type { Executor, ProgramDefinition } from '../../../src/executor/executor.ts';
import { setGpuExecutor } from '../../../src/executor/select.ts';
import type { Value } from '../../../src/graph/node.ts';
import { manualSeed } from '../../../src/random/generator.ts';
import { operandsIn, operations, parametersOf } from '../../support/bfloat16-operations.ts';
import { computedBy } from '../../support/cuda.ts';
import { fill, fillClasses } from '../../support/fill.ts';
import { roundedToBfloat16 } from '../../support/rounded-to-bfloat16.ts';
import '../../support/one-thread.ts';

const gpu = executorOn(fakeDevice());

/** Arena bytes of the programs that were compiled for the GPU. */
const arenas: number[] = [];
const watching: Executor = {
  ...gpu,
  compile: async (definition: ProgramDefinition) => {
    arenas.push(lowerProgram(forGpu(definition), librarySettings()).slots.at(-1)!);
    return await gpu.compile(definition);
  },
};
const before = setGpuExecutor(() => watching);
afterAll(() => {
  setGpuExecutor(before);
  setDefaultDevice(undefined);
});

/** The result and the gradients of its operands. */
function outputsOf(name: string): Value[] {
  const result = operations[name](operandsIn('bfloat16', parametersOf()));
  if (!isFloat(result) || !result.requiresGrad) return [result.value];
  const weights = tensor(roundedToBfloat16(fill(result.shape, 50)), result.shape);
  const loss = result.float().mul(weights).sum();
  return [result.value, ...differentiate(loss.value).values()];
}

const names = Object.keys(operations);
const groups = Array.from({ length: Math.ceil(names.length / 16) }, (_, i) =>
  names.slice(16 * i, 16 * (i + 1)),
);

/** Largest difference, in units of the last place of bfloat16 of the largest element. */
function expectClose(
  what: string,
  found: readonly number[],
  expected: readonly number[],
  ulps: number,
): void {
  expect(found.length, what).toBe(expected.length);
  const largest = expected.reduce((most, one) => Math.max(most, Math.abs(one)), 2 ** -20);
  for (const [place, one] of expected.entries()) {
    if (Number.isNaN(one)) expect(found[place], what).toBeNaN();
    else
      expect(Math.abs(found[place] - one), `${what}, element ${place}`).toBeLessThanOrEqual(
        ulps * largest * 2 ** -7,
      );
  }
}

describe('operations of bfloat16 and their gradients', () => {
  test.each(groups)('%s, %s, %s, …', async (...group) => {
    const all = group.map(outputsOf);
    const [found, expected] = [
      await computedBy(gpu, all.flat()),
      await computedBy(onnxruntimeExecutor, all.flat()),
    ];
    let output = 0;
    for (const [index, outputs] of all.entries()) {
      for (const [place] of outputs.entries()) {
        expectClose(`${group[index]}, output ${place}`, found[output], expected[output], place === 0 ? 1 : 2);
        output += 1;
      }
    }
  });
});

test('dropout of bfloat16 keeps the elements that the CPU keeps, with its bits', async () => {
  manualSeed(3);
  const x = tensor(roundedToBfloat16(fill([1000], 1)), [1000]).bfloat16();
  const outputs = [F.dropout(x, 0.3).value];
  expect(await computedBy(gpu, outputs)).toEqual(await computedBy(onnxruntimeExecutor, outputs));
});

test('memory has the bits of the CPU: ties, subnormal numbers, infinity, and NaN', async () => {
  const bits = [
    0x3f808000, 0x3f818000, 0x3f808001, 0x00008000, 0x807fffff, 0x7f7fffff, 0x7f800000, 0x7f800001,
  ];
  const x = tensor(new Float32Array(Uint32Array.from(bits).buffer), [8]).bfloat16();
  // A copy, which is no elementwise operator, reads what the conversion has stored.
  const outputs = [x.flip(0).value, x.value];
  expect(await computedBy(gpu, outputs)).toEqual(await computedBy(onnxruntimeExecutor, outputs));
});

/** A transformer that predicts the next token, with dropout. */
class Gpt extends nn.Module {
  tokens = new nn.Embedding(20, 32);
  layers = new nn.TransformerEncoder(
    new nn.TransformerEncoderLayer(32, 4, { dimFeedforward: 64, dropout: 0.1, batchFirst: true }),
    2,
  );
  norm = new nn.LayerNorm(32);
  head = new nn.Linear(32, 20);

  forward(tokens: Tensor): Tensor {
    const seen = this.layers.forward(this.tokens.forward(tokens), { isCausal: true });
    return this.head.forward(this.norm.forward(seen)).view(-1, 20);
  }
}

class Cifar extends nn.Module {
  features = new nn.Sequential(
    new nn.Conv2d(3, 8, 3, { padding: 1 }),
    new nn.BatchNorm2d(8),
    new nn.ReLU(),
    new nn.MaxPool2d(2),
    new nn.Conv2d(8, 16, 3, { padding: 1, bias: false }),
    new nn.BatchNorm2d(16),
    new nn.ReLU(),
    new nn.AvgPool2d(2),
    new nn.Flatten(),
    new nn.Linear(64, 10),
  );

  forward(images: Tensor): Tensor {
    return this.features.forward(images);
  }
}

/** A classifier of sequences, whose cells have no kernel for bfloat16. */
class Text extends nn.Module {
  tokens = new nn.Embedding(20, 16);
  lstm = new nn.LSTM(16, 16, { batchFirst: true });
  gru = new nn.GRU(16, 16, { batchFirst: true });
  head = new nn.Linear(16, 4);

  forward(tokens: Tensor): Tensor {
    const [states] = this.lstm.forward(this.tokens.forward(tokens));
    const [, last] = this.gru.forward(states);
    return this.head.forward(last.view(-1, 16));
  }
}

const models = {
  text: {
    // Its states are float32 while they are computed.
    memory: 1.3,
    create: () => new Text(),
    batch: (): [Tensor, Tensor] => [
      tensor(fillClasses(8 * 12, 20, 1), [8, 12]),
      tensor(fillClasses(8, 4, 2)),
    ],
  },
  GPT: {
    memory: 0.75,
    create: () => new Gpt(),
    batch: (): [Tensor, Tensor] => [
      tensor(fillClasses(256, 20, 1), [4, 64]),
      tensor(fillClasses(256, 20, 2)),
    ],
  },
  'CIFAR CNN': {
    // Batch normalization keeps distances from the mean in float32.
    memory: 0.95,
    create: () => new Cifar(),
    batch: (): [Tensor, Tensor] => [
      tensor(fill([16, 3, 8, 8], 1), [16, 3, 8, 8]),
      tensor(fillClasses(16, 10, 2)),
    ],
  },
};

/** Losses of a few steps, and the bytes of the arena. */
async function train(
  { create, batch }: (typeof models)[keyof typeof models],
  device: 'cpu' | 'cuda',
  dtype: 'bfloat16' | undefined,
): Promise<{ losses: number[]; arena: number }> {
  manualSeed(7);
  setDefaultDevice(device);
  const model = create();
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
  const step = compileStep(
    optimizer,
    (x: ReturnType<typeof ones>, y: ReturnType<typeof ones>) => F.crossEntropy(model.forward(x), y),
    { autocast: dtype },
  );
  const losses: number[] = [];
  arenas.length = 0;
  for (let i = 0; i < 4; i += 1) losses.push(await (await step(...batch())).item());
  return { losses, arena: Math.max(0, ...arenas) };
}

describe.each(Object.entries(models))('a step with autocast, %s', (_, model) => {
  test('has the losses of the CPU, in the expected memory', async () => {
    const written = vi.spyOn(process.stderr, 'write');
    const expected = await train(model, 'cpu', 'bfloat16');
    const wide = await train(model, 'cuda', undefined);
    const narrow = await train(model, 'cuda', 'bfloat16');
    expect(written.mock.calls.filter(([line]) => String(line).includes('runs on the CPU'))).toEqual([]);
    written.mockRestore();
    for (const [place, loss] of expected.losses.entries()) {
      expect(Math.abs(narrow.losses[place] - loss)).toBeLessThan(0.02 * loss);
    }
    expect(narrow.losses).not.toEqual(wide.losses);
    expect(narrow.arena).toBeLessThan(model.memory * wide.arena);
  });
});
