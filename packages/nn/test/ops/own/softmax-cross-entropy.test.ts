import * as ort from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { rewrite } from '../../../src/compiler/rewrite.ts';
import { softmaxCrossEntropyOfLogSoftmax } from '../../../src/compiler/rewrites/softmax-cross-entropy.ts';
import { topologicalOrder } from '../../../src/graph/topology.ts';
import { exportOnnx, F, nn, Parameter, Tensor, tensor } from '../../../src/index.ts';
import { mul } from '../../../src/ops/elementwise.ts';
import { bothWays, onThreads, worstUlps } from '../../support/both-ways.ts';
import { fill, fillClasses } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

type Options = F.CrossEntropyOptions;

/** The loss and the gradient of logits. */
async function trained(logits: Float32Array, labels: BigInt64Array, options?: Options) {
  const x = new Parameter(logits.slice(), [labels.length, logits.length / labels.length]);
  const loss = F.crossEntropy(x, tensor(labels), options);
  const each = (await loss.array()) as Float32Array;
  // Gradients of different sizes for the losses of rows.
  const factors = tensor(fill(loss.shape, 5), loss.shape);
  await (options?.reduction === 'none' ? loss.mul(factors).sum() : loss).backward();
  return [each, x.grad!.slice()];
}

/** The mean loss and the gradient in double precision. */
function exactly(logits: Float32Array, labels: BigInt64Array): [loss: number, gradient: number[]] {
  const count = logits.length / labels.length;
  const gradient: number[] = [];
  let loss = 0;
  for (const [row, label] of labels.entries()) {
    const x = Array.from(logits.subarray(row * count, (row + 1) * count));
    const largest = x.reduce((a, b) => Math.max(a, b));
    const sum = x.reduce((total, one) => total + Math.exp(one - largest), 0);
    loss += (Math.log(sum) - (x[Number(label)] - largest)) / labels.length;
    gradient.push(
      ...x.map((one, c) => (Math.exp(one - largest) / sum - (BigInt(c) === label ? 1 : 0)) / labels.length),
    );
  }
  return [loss, gradient];
}

const scaled = (shape: readonly number[], seed: number, size: number) =>
  fill(shape, seed).map((one) => one * size);

/** Around the widths of vectors, and one more than a block of sums. */
const counts = [2, 7, 8, 15, 16, 17, 31, 33, 511, 513, 10_000];

describe('against double precision', () => {
  test.each(counts)('%i classes: within half a unit of the last place, 1 for gradients', async (count) => {
    for (const [seed, size] of [1, 8, 50].entries()) {
      const [logits, labels] = [scaled([3, count], seed, size), fillClasses(3, count, 1)];
      const [loss, gradient] = exactly(logits, labels);
      const [ownLoss, ownGradient] = await trained(logits, labels);
      expect(worstUlps(ownLoss, [loss]), `loss of logits to ${size}`).toBeLessThan(0.51);
      expect(worstUlps(ownGradient, gradient), `gradient of logits to ${size}`).toBeLessThan(1);
    }
  });

  test('probabilities down to 1e-34 have a relative error of at most 4e-7', async () => {
    // Differences of these logits are exact.
    const logits = scaled([1, 10_000], 1, 2500).map((one) => Math.round(one) / 64);
    const [, gradient] = exactly(logits, BigInt64Array.of(7n));
    const [, own] = await trained(logits, BigInt64Array.of(7n));
    const errors = own.map((one, c) => Math.abs(one - gradient[c]) / Math.abs(gradient[c]));
    expect(errors.reduce((a, b) => Math.max(a, b), 0)).toBeLessThan(4e-7);
  });
});

describe('against plain operators', () => {
  const weight = (count: number) => tensor(fill([count], 9)).add(1.5);
  const ignoring = (rows: number, count: number) =>
    fillClasses(rows, count, 1).map((label, row) => (row % 3 === 1 ? -100n : label));

  describe.each(['mean', 'sum', 'none'] as const)('%s', (reduction) => {
    test.each([1, ...counts.slice(0, -1)])('%i classes, some ignored', async (count) => {
      for (const options of [{}, { labelSmoothing: 0.2 }, { weight: weight(count) }]) {
        const all = { ...options, reduction };
        const logits = scaled([7, count], 3, 8);
        const { own, plain } = await bothWays(() => trained(logits, ignoring(7, count), all));
        expectClose('loss', own[0], [...plain[0]], 1e-6);
        expectClose('gradient', own[1], [...plain[1]], 2e-6);
      }
    });
  });

  test.each<[string, number[]]>([
    ['NaN', [1, NaN, 2]],
    ['infinity', [1, Infinity, 2]],
    ['-infinity', [1, -Infinity, 2]],
    ['-infinity of the class', [-Infinity, 1, 2]],
    ['nothing but -infinity', [-Infinity, -Infinity, -Infinity]],
    ['the largest numbers', [3e38, -3e38, 3e38]],
  ])('a row with %s', async (_, row) => {
    for (const options of [{}, { labelSmoothing: 0.2 }, { weight: weight(3) }]) {
      const compute = () =>
        trained(Float32Array.of(...row, 1, 2, 3), BigInt64Array.of(0n, 2n), {
          ...options,
          reduction: 'none',
        });
      const { own, plain } = await bothWays(compute);
      for (const [k, numbers] of own.entries()) {
        expect([...numbers].map(kindOf)).toEqual([...plain[k]].map(kindOf));
        expect([...numbers].filter(Number.isFinite)).toEqual(
          [...plain[k]].filter(Number.isFinite).map((one) => expect.closeTo(one, 5) as number),
        );
      }
    }
  });

  test('an empty batch', async () => {
    const lossOf = async (reduction: 'mean' | 'sum' | 'none') => {
      const x = new Parameter(new Float32Array(0), [0, 5]);
      const loss = F.crossEntropy(x, tensor(new BigInt64Array(0)), { reduction });
      return [...((await loss.array()) as Float32Array)];
    };
    for (const reduction of ['mean', 'none'] as const) {
      const { own, plain } = await bothWays(() => lossOf(reduction));
      expect(own).toEqual(plain);
    }
    // As in torch; ONNX has no empty sum.
    expect(await lossOf('sum')).toEqual([0]);
  });

  test('a trained weight receives a gradient', async () => {
    const compute = async () => {
      const [x, w] = [new Parameter(fill([4, 3], 1), [4, 3]), new Parameter(Float32Array.of(1, 2, 3), [3])];
      await F.crossEntropy(x, tensor(fillClasses(4, 3, 1)), { weight: w, reduction: 'sum' }).backward();
      return w.grad!.slice();
    };
    const { own, plain } = await bothWays(compute);
    expect(own).toEqual(plain);
    expect(own[0]).toBeGreaterThan(0.1);
  });
});

test('if all targets are ignored, the loss is NaN with gradient 0, as in torch', async () => {
  const [loss, gradient] = await trained(fill([2, 3], 1), BigInt64Array.of(-100n, -100n));
  expect([...loss]).toEqual([NaN]);
  expect([...gradient]).toEqual([0, 0, 0, 0, 0, 0]);
});

test('results are bit-identical for any number of threads', async () => {
  const logits = scaled([97, 301], 1, 8);
  const compute = () => trained(logits, fillClasses(97, 301, 1), { labelSmoothing: 0.1 });
  const [one, three] = [await onThreads(1, compute), await onThreads(3, compute)];
  expect(three).toEqual(one);
});

test('a computed class out of range fails, and later runs succeed', async () => {
  const computed = (label: bigint) => {
    const labels = tensor(BigInt64Array.of(1n, label));
    return new Tensor(mul(labels.value, tensor(BigInt64Array.of(1n, 1n)).value));
  };
  for (const label of [-1n, 3n]) {
    const loss = F.crossEntropy(tensor(fill([2, 3], 1), [2, 3]), computed(label));
    await expect(loss.item()).rejects.toThrow(
      `crossEntropy: expected targets from 0 to 2 or ignoreIndex (-100), got ${label} at index 1.`,
    );
  }
  expect(await F.crossEntropy(tensor(fill([2, 3], 1), [2, 3]), computed(2n)).item()).toBeGreaterThan(0);
});

test('a training step computes nllLoss of logSoftmax as the cross-entropy', async () => {
  const [logits, labels] = [fill([5, 17], 1), fillClasses(5, 17, 1)];
  const x = new Parameter(logits, [5, 17]);
  const loss = F.nllLoss(F.logSoftmax(x, 1), tensor(labels));
  const [rewritten] = rewrite([loss.value], [softmaxCrossEntropyOfLogSoftmax]);
  expect(topologicalOrder([rewritten]).map(({ op }) => op)).toEqual([
    'Input',
    'Input',
    'SoftmaxCrossEntropy',
  ]);
  await loss.backward();
  const [, gradient] = await trained(logits, labels);
  expect(x.grad).toEqual(gradient);
  // Along another axis it is not a cross-entropy.
  const other = F.nllLoss(F.logSoftmax(x, 0), tensor(labels)).value;
  expect(rewrite([other], [softmaxCrossEntropyOfLogSoftmax])).toEqual([other]);
});

test('an exported model has operators of ONNX only', async () => {
  class Loss extends nn.Module {
    forward(logits: Tensor, labels: Tensor): Tensor {
      return F.crossEntropy(logits, labels, { labelSmoothing: 0.1 });
    }
  }
  const inputs = [
    { name: 'logits', shape: [4, 3] },
    { name: 'labels', shape: [4], dtype: 'int64' },
  ] as const;
  const model = await ort.InferenceSession.create(exportOnnx(new Loss(), { inputs }));
  const [logits, labels] = [fill([4, 3], 1), fillClasses(4, 3, 1)];
  const { output } = await model.run({
    logits: new ort.Tensor('float32', logits, [4, 3]),
    labels: new ort.Tensor('int64', labels, [4]),
  });
  const expected = F.crossEntropy(tensor(logits, [4, 3]), tensor(labels), { labelSmoothing: 0.1 });
  expectClose('loss', output.data as Float32Array, [await expected.item()], 1e-6);
});

function kindOf(number: number): string {
  return Number.isFinite(number) ? 'finite' : String(number);
}
