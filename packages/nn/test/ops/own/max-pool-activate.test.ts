import { expect, test } from 'vitest';
import { maxPlaces } from '../../../src/ops/own/max-pool-activate.ts';
import { F, Parameter, tensor } from '../../../src/index.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import { expectClose, largest } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

interface Pooling {
  /** [N, C, H, W] of the images that are pooled. */
  shape: readonly number[];
  kernel: [number, number];
  bias?: boolean;
  activates?: boolean;
}

/** The loss and the gradients of the images, the filters and the bias. The images go through a 1×1 convolution, so the batch is innermost. */
async function trained({ shape, kernel, bias = true, activates = true }: Pooling, x = fill(shape, 1)) {
  const [, channels] = shape;
  const images = new Parameter(x.slice(), shape);
  // Each channel is its own filter.
  const identity = Float32Array.from({ length: channels ** 2 }, (_, i) => Number(i % (channels + 1) === 0));
  const filters = new Parameter(identity, [channels, channels, 1, 1]);
  const offset = bias ? new Parameter(fill([channels], 2), [channels]) : undefined;
  const pooled = F.maxPool2d(F.conv2d(images, filters, offset), kernel);
  const y = activates ? F.relu(pooled) : pooled;
  const loss = y.mul(tensor(fill(y.shape, 3), y.shape)).sum();
  await loss.backward();
  const gradients = [images, filters, offset].map((one) => one?.grad?.slice() ?? new Float32Array(0));
  return [Float32Array.of(await loss.item()), ...gradients];
}

const names = ['loss', 'dx', 'filters', 'bias'];

/** Around the widths of vectors, and windows of other shapes than 2 × 2. */
test.each<Pooling>([
  { shape: [16, 3, 4, 6], kernel: [2, 2] },
  { shape: [64, 5, 8, 8], kernel: [2, 2] },
  { shape: [17, 1, 2, 2], kernel: [2, 2] },
  { shape: [31, 2, 6, 4], kernel: [2, 2], bias: false },
  { shape: [33, 3, 4, 4], kernel: [2, 2], activates: false },
  { shape: [47, 2, 6, 9], kernel: [2, 3], bias: false, activates: false },
  { shape: [19, 2, 5, 3], kernel: [1, 3] },
  { shape: [16, 4, 6, 6], kernel: [6, 6] },
])('equals plain operators: $shape, windows $kernel, bias $bias, relu $activates', async (pooling) => {
  const { own, plain } = await bothWays(() => trained(pooling));
  for (const [k, name] of names.entries()) {
    expectClose(name, own[k], [...plain[k]], 1e-5, Math.max(1, largest([...plain[k]])));
  }
  expect(own[1]).toEqual(plain[1]);
});

test.each([
  ['equal elements', () => 0.5],
  ['NaN', (i: number) => (i % 7 === 3 ? NaN : Math.sin(i))],
  ['infinities', (i: number) => (i % 5 === 0 ? Infinity : i % 3 === 0 ? -Infinity : Math.sin(i))],
  ['zeros of both signs', (i: number) => (i % 2 === 0 ? 0 : -0)],
])('the gradient goes to the same place as with plain operators: %s', async (_, element) => {
  const shape = [16, 1, 4, 6];
  const x = Float32Array.from({ length: 16 * 4 * 6 }, (_, i) => element(i));
  for (const activates of [true, false]) {
    const pooling: Pooling = { shape, kernel: [2, 2], bias: false, activates };
    const { own, plain } = await bothWays(() => trained(pooling, x));
    expect(own[1]).toEqual(plain[1]);
  }
});

test('windows of more elements than a place can name are pooled in NCHW', async () => {
  const pooling: Pooling = { shape: [16, 1, 16, 16], kernel: [16, 16] };
  expect(16 * 16).toBeGreaterThan(maxPlaces);
  const { own, plain } = await bothWays(() => trained(pooling));
  expect(own[1]).toEqual(plain[1]);
});

test('results are bit-identical for any number of threads', async () => {
  const compute = () => trained({ shape: [70, 12, 16, 16], kernel: [2, 2] });
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});
