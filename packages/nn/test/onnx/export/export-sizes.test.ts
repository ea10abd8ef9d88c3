import * as ort from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import {
  arange,
  ArgumentError,
  cat,
  einsum,
  exportOnnx,
  eye,
  F,
  linspace,
  nn,
  ones,
  stack,
  tensor,
  where,
  zeros,
  type Tensor,
} from '../../../src/index.ts';
import { fill } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

// Exported models with dynamic sizes, in onnxruntime with its default optimisations, compared with the modules themselves.

class Computed extends nn.Module {
  readonly #compute: (x: Tensor) => Tensor;

  constructor(compute: (x: Tensor) => Tensor) {
    super();
    this.#compute = compute;
  }

  forward(x: Tensor): Tensor {
    return this.#compute(x);
  }
}

const size = (x: Tensor) => x.shape[0];
const rows = (x: Tensor) => x.view(size(x), 8);
/** The batch as the axis of a sequence of 4 channels, [2, 4, n]. */
const along = (x: Tensor) => x.permute(1, 2, 0);

/** Of x [n, 2, 4]. */
const cases: Record<string, (x: Tensor) => Tensor> = {
  'flip of it': (x) => x.flip(0),
  'flip of it and of another axis': (x) => x.flip(0, -1),
  'roll by more than it has': (x) => x.roll(7, 0),
  'roll back': (x) => x.roll(-3, 0),
  'roll by thousands': (x) => x.roll(4003, 0),
  'the last three': (x) => x.at([-3, null]),
  'all but the last two': (x) => x.at([null, -2]),
  'the last 150': (x) => x.at([-150, null]),
  'the last 5000': (x) => x.at([-5000, null]),
  'the first five at most': (x) => x.at([null, 5]),
  'every second': (x) => x.at([1, null, 2]),
  'every second of the last five but one': (x) => x.at([-5, -1, 2]),
  'the last one': (x) => x.at(-1),
  'a part that begins at the end': (x) => x.narrow(0, -1, 1),
  'a part of at most 50': (x) => x.narrow(0, 0, Math.min(size(x), 50)),
  'the first half': (x) => x.narrow(0, 0, Math.ceil(size(x) / 2)),
  'the last third': (x) => x.narrow(0, size(x) - Math.ceil(size(x) / 3), Math.ceil(size(x) / 3)),
  median: (x) => x.median(0).values,
  'median of all': (x) => x.median(),
  'positions of the median': (x) => x.median(0).indices,
  sort: (x) => x.sort(0, true).values,
  argsort: (x) => x.argsort(0),
  'the largest by kthvalue': (x) => x.kthvalue(size(x), 0).values,
  topk: (x) => x.topk(1, 0).values,
  'max, min and amax': (x) => stack([x.max(0).values, x.min(0).values, x.amax([0])]),
  'argmax of all': (x) => x.argmax(),
  cumsum: (x) => x.cumsum(0),
  diff: (x) => x.diff(1, 0),
  'mean and sum': (x) =>
    x
      .mean([0])
      .add(x.sum([0]))
      .add(x.mean()),
  'variance of a sample': (x) => x.var([0, 1]),
  'variance with a large correction': (x) => x.var([0], 3),
  'norm and logsumexp': (x) => x.norm(2, [0]).add(x.logsumexp([0])),
  softmax: (x) => x.softmax(0).add(x.logSoftmax(0)),
  repeat: (x) => x.repeat(2, 1, 3),
  repeatInterleave: (x) => x.repeatInterleave(3, 0),
  expand: (x) => x.sum([0], true).expand(size(x), 2, 4),
  'windows of one': (x) => x.unfold(0, 1, 2),
  'windows of a longer axis': (x) => cat([x, x, x]).unfold(0, 3, 2),
  flatten: (x) => x.flatten(),
  'view with an open size in the middle': (x) => x.permute(1, 0, 2).view(2, -1, 2),
  'view of a multiple': (x) => x.view(size(x) * 4, 2),
  'positions forwards and backwards': (x) =>
    x.mul(arange(size(x)).float().view(-1, 1, 1)).add(
      arange(size(x) - 1, -1, -1)
        .float()
        .view(-1, 1, 1),
    ),
  'positions in halves': (x) =>
    arange(0, size(x) / 2, 0.5)
      .view(-1, 1, 1)
      .mul(x),
  'rows by position': (x) => x.at(arange(size(x))),
  'zeros beside it': (x) => cat([zeros([size(x), 1, 4]), x], 1),
  'a triangle of ones': (x) =>
    ones([size(x), size(x)])
      .tril()
      .matmul(rows(x)),
  'an identity matrix': (x) => eye(size(x)).matmul(rows(x)),
  'numbers at equal distances': (x) => linspace(-1, 2, size(x)).view(-1, 1, 1).mul(x),
  oneHot: (x) =>
    F.oneHot(arange(size(x)), size(x))
      .float()
      .matmul(rows(x)),
  'tril and triu': (x) =>
    einsum('ni,mi->nm', rows(x), rows(x))
      .tril(-1)
      .add(x.permute(1, 0, 2).triu(1).sum()),
  'einsum with it twice': (x) => einsum('nij,mjk->nmik', x, x.transpose(1, 2)),
  'causal attention': (x) => {
    const sequence = x.permute(1, 0, 2);
    return F.scaledDotProductAttention(sequence, sequence, sequence, { isCausal: true });
  },
  'a mask by position': (x) =>
    where(
      arange(size(x))
        .lt(size(x) - 1)
        .view(-1, 1, 1),
      x,
      0,
    ),
  'pad with a number': (x) => F.pad(x, [0, 0, 0, 0, 1, 2], { value: 0.5 }),
  'pad that removes': (x) => F.pad(x, [0, 0, 0, 0, 1, -1]),
  'pad to a multiple of 8': (x) => F.pad(x, [0, 0, 0, 0, 0, (8 - (size(x) % 8)) % 8]),
  'pad by replication': (x) => F.pad(along(x), [1, 2], { mode: 'replicate' }),
  'pad by reflection': (x) => F.pad(along(cat([x, x, x])), [2, 1], { mode: 'reflect' }),
  'circular padding': (x) => F.pad(along(x), [1, 1], { mode: 'circular' }),
  'maxPool with ceilMode': (x) => F.maxPool1d(along(x), 2, { ceilMode: true }),
  'maxPool with ceilMode and padding': (x) =>
    F.maxPool1d(along(x), 3, { stride: 2, padding: 1, ceilMode: true }),
  'avgPool with ceilMode': (x) => F.avgPool1d(along(x), 3, { stride: 2, padding: 1, ceilMode: true }),
  'avgPool with ceilMode without padding': (x) =>
    F.avgPool1d(along(x), 3, { stride: 2, padding: 1, ceilMode: true, countIncludePad: false }),
  'avgPool of one, whose size is read': (x) => {
    const pooled = F.avgPool1d(along(x), 3, { stride: 2, padding: 1 });
    return pooled.view(8, pooled.shape[2]).var([1], 0);
  },
  'two pools, whose size is divided by': (x) => {
    const once = F.maxPool1d(along(x), 3, { stride: 2, padding: 1 });
    const twice = F.maxPool1d(once, 3, { stride: 2, padding: 1 });
    return twice.sum([2]).div(twice.shape[2]);
  },
  'adaptive pooling to one': (x) => F.adaptiveAvgPool1d(along(x), 1),
  'interpolate to twice the size': (x) => F.interpolate(along(x), { scaleFactor: 2 }),
  'interpolate to 1.5 times the size': (x) => F.interpolate(along(x), { scaleFactor: 1.5 }),
  'interpolate to a size': (x) => F.interpolate(along(x), { size: 3 }),
  'batch statistics': (x) =>
    F.batchNorm(rows(cat([x, x])), undefined, undefined, undefined, undefined, { training: true }),
  'losses with a mean': (x) =>
    F.mseLoss(x, x.mul(2)).add(F.crossEntropy(rows(x), arange(size(x)).remainder(8))),
  'klDiv by the batch': (x) => F.klDiv(x, x.abs(), { reduction: 'batchmean' }),
  covariance: (x) => {
    const centered = rows(x).sub(rows(x).mean([0]));
    return centered
      .t()
      .matmul(centered)
      .div(Math.max(1, size(x) - 1));
  },
  'all pairs': (x) =>
    x
      .mean([1, 2])
      .unsqueeze(0)
      .sub(x.mean([1, 2]).unsqueeze(1)),
  'gather and scatterAdd': (x) => {
    const first = zeros([size(x), 2, 4], { dtype: 'int64' });
    return x.gather(0, first).add(x.scatterAdd(0, first, x));
  },
};

describe('a dynamic batch, exported with 1 and with 4', () => {
  test.each(Object.entries(cases))('%s', async (_, compute) => {
    const model = new Computed(compute);
    const sessions = await Promise.all(
      [1, 4].map((given) => ort.InferenceSession.create(exportOnnx(model, { inputShape: [given, 2, 4] }))),
    );
    for (const batch of [1, 2, 3, 5, 97]) await expectSame(sessions, model, [batch, 2, 4]);
  });
});

describe('images of dynamic sizes', () => {
  const dynamicAxes = { 0: 'batch', 2: 'height', 3: 'width' };
  const network = new nn.Sequential(
    new nn.Conv2d(2, 3, 3, { stride: 2, padding: 1 }),
    new nn.MaxPool2d(3, { stride: 2, padding: 1, ceilMode: true }),
    new nn.Conv2d(3, 4, 3, { padding: 1, paddingMode: 'reflect' }),
    new nn.Upsample({ scaleFactor: 2 }),
    new nn.InstanceNorm2d(4),
    new nn.AvgPool2d(2, { ceilMode: true }),
  );

  test('compute the same, even where sizes read by forward are formulas', async () => {
    const model = new Computed((x) => {
      const features = network.forward(x);
      const [batch, channels, height, width] = features.shape;
      const sequence = features.view(batch, channels, height * width).transpose(1, 2);
      return cat([sequence, sequence.cumsum(1).div(height * width)], 2).flip(1);
    });
    const holder = new Holder(network, model);
    const bytes = exportOnnx(holder, { inputs: [{ shape: [1, 2, 40, 36], dynamicAxes }] });
    const session = await ort.InferenceSession.create(bytes);
    for (const shape of [
      [1, 2, 40, 36],
      [3, 2, 19, 24],
      [2, 2, 8, 33],
    ]) {
      await expectSame([session], holder.eval(), shape);
    }
  });
});

class Holder extends nn.Module {
  readonly network: nn.Module;
  readonly #model: Computed;

  constructor(network: nn.Module, model: Computed) {
    super();
    this.network = network;
    this.#model = model;
  }

  forward(x: Tensor): Tensor {
    return this.#model.forward(x);
  }
}

describe('rejects other dependencies on the batch, naming the operation', () => {
  test.each<[string, (x: Tensor) => Tensor, RegExp]>([
    [
      'a branch for large sizes',
      (x) => x.mul(size(x) > 1000 ? 2 : 3),
      /in Mul\(.*a number in it is 3 for a batch of 97, 2 for a batch of 1021/,
    ],
    ['a branch for one size', (x) => x.mul(size(x) === 3 ? 2 : 3), /in Mul\(.* 2 for a batch of 3,/],
    [
      'a branch with other operations',
      (x) => (size(x) === 1 ? x.relu() : x),
      /forward computes no operation on float32\[97,2,4\].* and Relu\(float32\[1,2,4\]\)/,
    ],
    ['a root of it', (x) => x.div(Math.sqrt(size(x))), /in Div\(.*9\.848\d+ for a batch of 97/],
    [
      'squeeze of it',
      (x) => x.squeeze(0),
      /Reshape\(float32\[97,2,4\]\) to float32\[97,2,4\] .* and Reshape\(float32\[1,2,4\]\) to float32\[2,4\] for a batch of 1/,
    ],
    [
      'an operation for each element',
      (x) => stack(x.unbind(0)),
      /forward computes .* for a batch of 97, and .*, of \d+ and \d+ operations/,
    ],
    [
      'an array of its length',
      (x) => x.mul(tensor(Float32Array.from({ length: size(x) }, (_, i) => Math.sqrt(i))).view(-1, 1, 1)),
      /in Reshape\(float32\[97\]\), an array of numbers in it is float32\[97\]/,
    ],
    ['linear interpolation', (x) => F.interpolate(along(x), { scaleFactor: 2, mode: 'linear' }), /in Gemm\(/],
    [
      'a number that is not the batch',
      (x) => x.view(1, 8),
      /forward fails for a batch of 97: view: float32\[97,2,4\]/,
    ],
    [
      'random numbers',
      (x) => x.add(tensor(Float32Array.of(Math.random()))),
      /in Add\(float32\[97,2,4\], float32\[1\]\)/,
    ],
  ])('%s', (_, compute, message) => {
    const refused = () => exportOnnx(new Computed(compute), { inputShape: [1, 2, 4] });
    expect(refused).toThrow(ArgumentError);
    expect(refused).toThrow(message);
    expect(refused).toThrow('the batch cannot be dynamic');
  });
});

describe('an error of forward', () => {
  class Failing extends nn.Module {
    readonly layer = new nn.Linear(5, 3);

    forward(x: Tensor): Tensor {
      return this.layer.forward(x);
    }
  }

  test('is rethrown unchanged, without mentioning the batch', () => {
    const failed = () => exportOnnx(new Failing(), { inputShape: [1, 4] });
    expect(failed).toThrow(/Gemm|linear/i);
    expect(failed).not.toThrow(/batch|exportOnnx/);
    const bug = new TypeError("Cannot read properties of undefined (reading 'layers')");
    const throws = new Computed(() => {
      throw bug;
    });
    expect(() => exportOnnx(throws, { inputShape: [1, 4] })).toThrow(bug);
    expect(() => exportOnnx(throws, { inputs: [{ shape: [1, 4], fixed: true }] })).toThrow(bug);
  });

  test('that occurs only in a later call is not attributed to the batch', () => {
    let calls = 0;
    const model = new Computed((x) => {
      calls += 1;
      if (calls > 2) throw new Error('the cache is full');
      return x;
    });
    expect(() => exportOnnx(model, { inputShape: [1, 4] })).toThrow(/^the cache is full$/);
  });
});

async function expectSame(
  sessions: readonly ort.InferenceSession[],
  model: nn.Module,
  shape: readonly number[],
): Promise<void> {
  const data = fill(shape, shape[0]);
  const { forward } = model as unknown as { forward: (x: Tensor) => Tensor };
  const expected = forward.call(model, tensor(data, shape));
  const numbers = Float32Array.from((await expected.array()) as Float32Array, Number);
  const kinds = (array: Float32Array) => array.map((number) => (Number.isFinite(number) ? 0 : number));
  const finite = (array: Float32Array) => array.filter((_, index) => Number.isFinite(numbers[index]));
  for (const session of sessions) {
    const { output } = await session.run({ input: new ort.Tensor('float32', data, shape) });
    const actual = Float32Array.from(output.data as Float32Array, Number);
    expect(output.dims).toEqual(expected.shape);
    expect(kinds(actual)).toEqual(kinds(numbers));
    expectClose(shape.join('x'), finite(actual), finite(numbers), 1e-5);
  }
}
