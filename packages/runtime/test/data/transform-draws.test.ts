import { describe, expect, test } from 'vitest';
import { Random, mixed } from '../../src/data/random.ts';
import {
  ColorJitter,
  RandomAffine,
  RandomGrayscale,
  RandomResizedCrop,
} from '../../src/data/transforms/index.ts';
import { ColorStage } from '../../src/data/transforms/stages/colors.ts';
import { ResizeStage } from '../../src/data/transforms/stages/resize.ts';
import type { ByteStage, ImageShape } from '../../src/data/transforms/stages/stage.ts';
import { WarpStage } from '../../src/data/transforms/stages/warp.ts';

const shape: ImageShape = [3, 6, 5];

describe('drawn numbers have torchvision’s distributions:', () => {
  const count = 4000;
  const draws = <Drawn>(stage: ByteStage<Drawn>) =>
    Array.from({ length: count }, (_, i) => stage.draw(new Random(mixed(11, i))));
  /** Ends and mean of uniform numbers; 5 standard deviations of the mean. */
  function expectUniform(numbers: readonly number[], from: number, to: number): void {
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(from);
    expect(Math.max(...numbers)).toBeLessThanOrEqual(to);
    const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
    const allowed = (5 * (to - from)) / Math.sqrt(12 * numbers.length);
    expect(Math.abs(mean - (from + to) / 2)).toBeLessThan(allowed);
  }

  test('factors of ColorJitter, in each order equally often', () => {
    const drawn = draws(new ColorStage(shape, new ColorJitter(0.4, [0.5, 2], 0, 0.1)));
    for (const [operation, from, to] of [
      [0, 0.6, 1.4],
      [1, 0.5, 2],
      [3, -0.1, 0.1],
    ]) {
      const factors = drawn.map((steps) => steps.find((step) => step.operation === operation)!.factor);
      expectUniform(factors, from, to);
    }
    const orders = new Map<string, number>();
    for (const steps of drawn) {
      const order = steps.map(({ operation }) => operation).join('');
      orders.set(order, (orders.get(order) ?? 0) + 1);
    }
    expect(orders.size).toBe(6);
    for (const times of orders.values()) expect(Math.abs(times - count / 6)).toBeLessThan(120);
  });

  test('angle, shifts and scale of RandomAffine', () => {
    const options = { translate: [0.5, 0.25], scale: [0.5, 2] } as const;
    const drawn = draws(new WarpStage([3, 40, 60], new RandomAffine([-30, 60], options)));
    // The inverse matrix is a rotation divided by the scale, and the shift by it.
    const angles = drawn.map(([a, b]) => (Math.atan2(b, a) * 180) / Math.PI);
    expectUniform(angles, -30 - 1e-9, 60 + 1e-9);
    expectUniform(
      drawn.map(([a, b]) => 1 / Math.hypot(a, b)),
      0.5 - 1e-9,
      2 + 1e-9,
    );
    const shifts = drawn.map(([a, b, c, d, e, f]) => {
      const scale = a * e - b * d;
      return [(b * f - c * e) / scale, (c * d - a * f) / scale].map(Math.round);
    });
    expectUniform(
      shifts.map(([x]) => x),
      -30,
      30,
    );
    expectUniform(
      shifts.map(([, y]) => y),
      -10,
      10,
    );
  });

  test('area and position of RandomResizedCrop', () => {
    const from: ImageShape = [3, 200, 200];
    const crop = new RandomResizedCrop(8, { scale: [0.1, 0.5], ratio: [1, 1] });
    const drawn = draws(new ResizeStage(from, crop));
    // Sides are rounded to pixels.
    expectUniform(
      drawn.map(({ height, width }) => (height * width) / 40_000),
      0.0985,
      0.5015,
    );
    expectUniform(
      drawn.map(({ top, height }) => top / (200 - height)),
      0,
      1,
    );
  });

  test('RandomGrayscale has the probability p', () => {
    const drawn = draws(new ColorStage(shape, new RandomGrayscale({ p: 0.3 })));
    const gray = drawn.filter((steps) => steps.length > 0).length;
    // 5 standard deviations.
    expect(Math.abs(gray - 0.3 * count)).toBeLessThan(145);
  });
});
