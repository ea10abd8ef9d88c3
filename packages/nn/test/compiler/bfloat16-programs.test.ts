import * as ort from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import {
  checkpoint,
  compileStep,
  exportOnnx,
  F,
  manualSeed,
  nn,
  optim,
  programCache,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { bothWays, onThreads } from '../support/both-ways.ts';
import { fill, fillClasses } from '../support/fill.ts';
import '../support/one-thread.ts';

/** Convolution, norms, attention and products in bfloat16, with parameters in float32. */
class Network extends nn.Module {
  readonly conv = new nn.Conv2d(1, 4, 3, { padding: 1 });
  readonly batchNorm = new nn.BatchNorm2d(4);
  readonly layerNorm = new nn.LayerNorm([16]);
  readonly inner = new nn.Linear(16, 16);
  readonly last = new nn.Linear(16, 5);
  readonly #dtype: 'float32' | 'bfloat16';
  readonly #recomputes: boolean;

  constructor(dtype: 'float32' | 'bfloat16', recomputes = false) {
    super();
    this.#dtype = dtype;
    this.#recomputes = recomputes;
  }

  forward(images: Tensor): Tensor {
    const features = this.#features(images);
    const inner = (x: Tensor) => this.#inner(x);
    const result = this.#recomputes ? checkpoint(inner, features) : inner(features);
    return this.#product(result.mean([1]), this.last).float();
  }

  #features(images: Tensor): Tensor {
    const { weight, bias } = this.conv;
    const [x, w, b] = [images, weight, bias!].map((one) => one.to(this.#dtype));
    const convolved = F.maxPool2d(this.batchNorm.forward(F.conv2d(x, w, b, { padding: 1 })).relu(), 2);
    return convolved.flatten(2);
  }

  #inner(x: Tensor): Tensor {
    const normalized = this.layerNorm.forward(x);
    const attended = F.scaledDotProductAttention(normalized, normalized, normalized);
    return x.add(F.dropout(F.gelu(this.#product(attended, this.inner)), 0.25, { training: this.training }));
  }

  #product(x: Tensor, { weight, bias }: nn.Linear): Tensor {
    return F.linear(x, weight.to(this.#dtype), bias!.to(this.#dtype));
  }
}

const batch = 16;
const images = () => tensor(fill([batch, 1, 8, 8], 1), [batch, 1, 8, 8]);
const labels = () => tensor(fillClasses(batch, 5, 2));

interface Training {
  readonly losses: readonly number[];
  readonly parameters: readonly Float32Array[];
}

async function train(model: Network, compiles = false): Promise<Training> {
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
  const lossOf = (x: Tensor, classes: Tensor) => F.crossEntropy(model.forward(x), classes);
  const compiled = compileStep(optimizer, lossOf);
  const losses: number[] = [];
  for (let step = 0; step < 6; step += 1) {
    if (compiles) {
      losses.push(await (await compiled(images(), labels())).item());
      continue;
    }
    const loss = lossOf(images(), labels());
    await loss.backward();
    await optimizer.step();
    optimizer.zeroGrad();
    losses.push(await loss.item());
  }
  return { losses, parameters: [...model.parameters()].map(({ data }) => data.slice()) };
}

function seeded(dtype: 'float32' | 'bfloat16', recomputes = false): Network {
  manualSeed(3);
  return new Network(dtype, recomputes);
}

describe('a network that computes in bfloat16', () => {
  test('trains, with other losses than in float32, but near to them', async () => {
    const narrow = await train(seeded('bfloat16'));
    const wide = await train(seeded('float32'));
    expect(narrow.losses.at(-1)).toBeLessThan(narrow.losses[0]);
    expect(narrow.losses).not.toEqual(wide.losses);
    for (const [step, loss] of narrow.losses.entries())
      expect(Math.abs(loss - wide.losses[step])).toBeLessThan(0.05);
  });

  test('computes the same bits from run to run, and for any number of threads', async () => {
    const once = await onThreads(1, () => train(seeded('bfloat16')));
    expect(await onThreads(1, () => train(seeded('bfloat16')))).toEqual(once);
    expect(await onThreads(3, () => train(seeded('bfloat16')))).toEqual(once);
  });

  test('computes with plain operators the same losses, within the precision of bfloat16', async () => {
    const { own, plain } = await bothWays(() => train(seeded('bfloat16')));
    for (const [step, loss] of plain.losses.entries())
      expect(Math.abs(loss - own.losses[step])).toBeLessThan(0.02);
  });

  test('computes the same bits in a compiled step', async () => {
    expect(await train(seeded('bfloat16'), true)).toEqual(await train(seeded('bfloat16')));
  });

  test('computes the same bits if a part is recomputed in the backward pass', async () => {
    expect(await train(seeded('bfloat16', true))).toEqual(await train(seeded('bfloat16')));
  });

  test('is exported with its conversions', async () => {
    const model = seeded('bfloat16');
    model.eval();
    const session = await ort.InferenceSession.create(exportOnnx(model, { inputShape: [2, 1, 8, 8] }));
    const { output } = await session.run({
      input: new ort.Tensor('float32', fill([batch, 1, 8, 8], 1), [batch, 1, 8, 8]),
    });
    const expected = (await model.forward(images()).array()) as Float32Array;
    const exported = output.data as Float32Array;
    for (const [place, one] of expected.entries()) expect(Math.abs(exported[place] - one)).toBeLessThan(0.03);
  });

  test('reports the operation of the first NaN', async () => {
    const model = seeded('bfloat16');
    const loss = model.forward(images().mul(Infinity)).sum();
    await expect(loss.backward({ detectAnomaly: true })).rejects.toMatchObject({ code: 'ERR_NONFINITE' });
  });
});

test('programs of other dtypes are other programs', async () => {
  programCache.clear();
  const x = tensor(Float32Array.of(1, 2 ** -9));
  const sums = [x.sum(), x.bfloat16().sum(), x.bfloat16().float().sum()];
  expect(await Promise.all(sums.map((sum) => sum.item()))).toEqual([1 + 2 ** -9, 1, 1 + 2 ** -9]);
});
