import ort from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { autocast, checkpoint, compileStep, exportOnnx, F } from '../../src/index.ts';
import { manualSeed, nn, noGrad, optim, tensor, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

const bf16 = { dtype: 'bfloat16' } as const;

/** Convolution, batch and layer normalization, attention, a recurrent layer, an embedding and products. */
class Net extends nn.Module {
  readonly conv = new nn.Conv2d(1, 8, 3, { padding: 1 });
  readonly norm = new nn.BatchNorm2d(8);
  readonly layerNorm = new nn.LayerNorm(8);
  readonly attention = new nn.MultiheadAttention(8, 2, { batchFirst: true });
  readonly recurrent = new nn.GRU(8, 8, { batchFirst: true });
  readonly classes = new nn.Embedding(3, 8);
  readonly last = new nn.Linear(8, 3);
  recomputes = false;

  forward(images: Tensor): Tensor {
    const features = F.gelu(this.norm.forward(this.conv.forward(images)))
      .flatten(2)
      .transpose(1, 2);
    const inner = (x: Tensor) => x.add(this.attention.forward(this.layerNorm.forward(x)).output);
    const attended = this.recomputes ? checkpoint(inner, features) : inner(features);
    const [states] = this.recurrent.forward(attended);
    const centers = this.classes.forward(tensor(BigInt64Array.of(0n, 1n, 2n)));
    return this.last.forward(states.mean([1])).add(states.mean([1]).matmul(centers.mT));
  }
}

const images = tensor(fill([6, 1, 4, 4], 1), [6, 1, 4, 4]);
const labels = tensor(BigInt64Array.of(0n, 1n, 2n, 0n, 1n, 2n));
const lossOf = (model: Net) => F.crossEntropy(model.forward(images), labels);

function made(seed = 1): Net {
  manualSeed(seed);
  return new Net();
}

type Step = () => Promise<unknown>;

/** Ways to write a step. */
const ways: Readonly<Record<string, (model: Net, optimizer: optim.Optimizer) => Step>> = {
  eager: (model, optimizer) => async () => {
    const loss = autocast(bf16, () => lossOf(model));
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
  },
  compiled: (model, optimizer) => compileStep(optimizer, () => lossOf(model), { autocast: 'bfloat16' }),
  recomputed: (model, optimizer) => {
    model.recomputes = true;
    return ways['eager'](model, optimizer);
  },
  frozen: (model, optimizer) => {
    model.conv.requiresGrad(false);
    model.attention.requiresGrad(false);
    return ways['eager'](model, optimizer);
  },
};

const adam = (model: Net) => new optim.AdamW(model.parameters(), { lr: 0.01 });

async function repeat(step: Step, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await step();
}

/** All parameters and buffers. */
const stateOf = (model: Net) => new Map([...model.stateDict()].map(([key, { data }]) => [key, data.slice()]));

describe.each(Object.keys(ways))('a training in autocast, %s', (way) => {
  test('is bit-identical if it resumes in its middle in another model', async () => {
    const [whole, first, second] = [made(), made(), made(2)];
    await repeat(ways[way](whole, adam(whole)), 8);

    const optimizer = adam(first);
    await repeat(ways[way](first, optimizer), 4);
    const saved = structuredClone({ optimizer: optimizer.stateDict() });
    const state = new Map(
      [...first.stateDict()].map(([key, one]) => [key, { ...one, data: one.data.slice() }]),
    );

    const next = adam(second);
    const step = ways[way](second, next);
    // Programs and casts of other parameters than those of the checkpoint.
    if (way !== 'frozen') await step();
    second.loadStateDict(state);
    next.loadStateDict(saved.optimizer);
    await repeat(step, 4);
    expect(stateOf(second)).toEqual(stateOf(whole));
    expect(stateOf(first)).not.toEqual(stateOf(whole));
  });

  test('moves the parameters that are trained, and no others', async () => {
    const model = made();
    const before = stateOf(model);
    await repeat(ways[way](model, adam(model)), 2);
    const after = stateOf(model);
    for (const [key, parameter] of model.namedParameters())
      expect(before.get(key), key).not.toEqual(parameter.requiresGrad ? after.get(key) : undefined);
    for (const [key, { requiresGrad }] of model.namedParameters())
      if (!requiresGrad) expect(after.get(key), key).toEqual(before.get(key));
  });
});

test('a step recomputed by checkpoint has the bits of a plain one', async () => {
  const [plain, recomputed] = [made(), made()];
  await repeat(ways['eager'](plain, adam(plain)), 3);
  await repeat(ways['recomputed'](recomputed, adam(recomputed)), 3);
  expect(stateOf(recomputed)).toEqual(stateOf(plain));
});

test('one region around a whole training sees parameters that a checkpoint has changed', async () => {
  const [inside, outside] = [made(), made()];
  const other = made(2).stateDict();
  const results = await autocast(bf16, async () => {
    const before = await inside.forward(images).array();
    inside.loadStateDict(other);
    return [before, await inside.forward(images).array()];
  });
  const scores = () => autocast(bf16, () => outside.forward(images)).array();
  const expected = [await scores()];
  outside.loadStateDict(other);
  expected.push(await scores());
  expect(results).toEqual(expected);
});

describe.each([{}, { lineSearchFn: 'strongWolfe' } as const])('LBFGS in autocast: %o', (options) => {
  async function descend(mode: <T>(run: () => T) => T): Promise<number[]> {
    manualSeed(4);
    const model = new nn.Sequential(new nn.Linear(4, 8), new nn.Tanh(), new nn.Linear(8, 1));
    const optimizer = new optim.LBFGS(model.parameters(), { maxIter: 4, ...options });
    const [x, y] = [tensor(fill([12, 4], 4), [12, 4]), tensor(fill([12, 1], 5), [12, 1])];
    const losses: number[] = [];
    for (let step = 0; step < 4; step += 1) {
      losses.push(
        await optimizer.step(async () => {
          optimizer.zeroGrad();
          const loss = mode(() => F.mseLoss(model.forward(x), y));
          await loss.backward();
          return loss;
        }),
      );
    }
    expect([...model.parameters()].every(({ data }) => data.every(Number.isFinite))).toBe(true);
    return losses;
  }

  test('descends as far as in float32, but for the precision of bfloat16', async () => {
    const [wide, narrow] = [await descend((run) => run()), await descend((run) => autocast(bf16, run))];
    expect(narrow[0]).not.toBe(wide[0]);
    expect(narrow[0]).toBeCloseTo(wide[0], 2);
    expect(narrow.at(-1)!).toBeLessThan(0.8 * narrow[0]);
    expect(Math.abs(narrow.at(-1)! - wide.at(-1)!)).toBeLessThan(0.1 * wide[0]);
  });
});

describe('a model trained in autocast is exported', () => {
  async function trained(): Promise<Net> {
    const model = made();
    await repeat(ways['compiled'](model, adam(model)), 5);
    return model.eval();
  }

  async function scoresOf(bytes: Uint8Array): Promise<Float32Array> {
    const session = await ort.InferenceSession.create(bytes);
    const given = new ort.Tensor('float32', images.elements() as Float32Array, [6, 1, 4, 4]);
    const result = (await session.run({ [session.inputNames[0]]: given }))[session.outputNames[0]];
    expect(result.type).toBe('float32');
    return result.data as Float32Array;
  }

  test('in float32, with the scores of the model outside of autocast', async () => {
    const model = await trained();
    const expected = (await noGrad(() => model.forward(images)).array()) as Float32Array;
    const found = await scoresOf(exportOnnx(model, { inputShape: [6, 1, 4, 4] }));
    for (const [i, one] of expected.entries()) expect(found[i]).toBeCloseTo(one, 4);
  });

  test('in bfloat16 within autocast, with the scores of the model there', async () => {
    const model = await trained();
    const expected = (await autocast(bf16, () =>
      noGrad(() => model.forward(images)),
    ).array()) as Float32Array;
    const found = await scoresOf(autocast(bf16, () => exportOnnx(model, { inputShape: [6, 1, 4, 4] })));
    for (const [i, one] of expected.entries()) expect(Math.abs(found[i] - one)).toBeLessThan(0.05);
  });
});
