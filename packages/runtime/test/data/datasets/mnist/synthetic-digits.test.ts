import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { syntheticDigits } from '../../../../src/data/datasets/mnist/synthetic-digits.ts';

const count = 2000;
const { images, labels } = syntheticDigits({ count, seed: 1 });
const imageOf = (of: typeof images, index: number) => of.data.subarray(784 * index, 784 * (index + 1));

test('equal seeds generate equal digits, for any count', () => {
  const fewer = syntheticDigits({ count: 100, seed: 1 });
  expect(fewer.images.shape).toEqual([100, 28, 28]);
  expect(Buffer.compare(fewer.images.data, images.data.subarray(0, 100 * 784))).toBe(0);
  expect(Buffer.compare(fewer.labels.data, labels.data.subarray(0, 100))).toBe(0);
});

test('different seeds generate different digits', () => {
  const other = syntheticDigits({ count: 100, seed: 2 });
  expect(Buffer.compare(other.images.data, images.data.subarray(0, 100 * 784))).not.toBe(0);
});

test('all images differ', () => {
  const hash = (index: number) => createHash('sha256').update(imageOf(images, index)).digest('hex');
  expect(new Set(Array.from({ length: count }, (_, index) => hash(index))).size).toBe(count);
});

test('digits are uniformly distributed', () => {
  const times = Array.from(
    { length: 10 },
    (_, digit) => labels.data.filter((label) => label === digit).length,
  );
  expect(Math.min(...times)).toBeGreaterThan(150);
  expect(Math.max(...times)).toBeLessThan(250);
});

test('mean brightness is MNIST’s: white on black, inside the frame', () => {
  const mean = images.data.reduce((sum, byte) => sum + byte, 0) / images.data.length / 255;
  expect(mean).toBeGreaterThan(0.11);
  expect(mean).toBeLessThan(0.15);
  const isFrame = (pixel: number) => pixel % 28 === 0 || pixel % 28 === 27 || pixel < 28 || pixel >= 27 * 28;
  const ofFrame = images.data.filter((_, at) => isFrame(at % 784));
  expect(ofFrame.filter((byte) => byte > 0).length / ofFrame.length).toBeLessThan(0.01);
});

test('labels can be learned, but not from the mean image of each digit alone', () => {
  const average = Array.from({ length: 10 }, () => new Float64Array(784));
  const times = new Float64Array(10);
  for (let index = 0; index < count; index++) {
    const label = labels.data[index];
    times[label]++;
    for (const [pixel, byte] of imageOf(images, index).entries()) average[label][pixel] += byte;
  }
  for (const [digit, sum] of average.entries()) sum.set(sum.map((value) => value / times[digit]));

  const testing = syntheticDigits({ count: 500, seed: 2 });
  const distance = (image: Uint8Array, to: Float64Array) =>
    image.reduce((sum, byte, pixel) => sum + (byte - to[pixel]) ** 2, 0);
  const guess = (image: Uint8Array) => {
    const distances = average.map((of) => distance(image, of));
    return distances.indexOf(Math.min(...distances));
  };
  const isRight = (label: number, index: number) => guess(imageOf(testing.images, index)) === label;
  const accuracy = [...testing.labels.data].filter(isRight).length / 500;
  expect(accuracy).toBeGreaterThan(0.6);
  expect(accuracy).toBeLessThan(0.97);
});
