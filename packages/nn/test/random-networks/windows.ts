import { made, type Argument, type Call, type Step } from './network.ts';
import type { Random } from './random.ts';

/** Draws calls that fit a tensor of a shape; undefined if none does. */
export type Draw = (
  random: Random,
  shape: readonly number[],
  dtype: string,
) => Step | readonly Step[] | undefined;

/** A module for [N, C, …] with `axes` additional dimensions. */
export const images =
  (
    axes: number,
    draw: (random: Random, channels: number, sizes: readonly number[]) => Call | undefined,
  ): Draw =>
  (random, shape) =>
    shape.length === axes + 2 ? draw(random, shape[1], shape.slice(2)) : undefined;

const each = (sizes: readonly number[], draw: (size: number) => number): number[] => sizes.map(draw);

/** A number for all axes, or one for each. */
const oneOrAll = (random: Random, sizes: readonly number[]): Argument =>
  random.chance() || sizes.length === 1 ? Math.min(...sizes) : sizes;

export const convolution = (axes: number): Draw =>
  images(axes, (random, channels, sizes) => {
    const groups = random.pick([1, 1, channels]);
    const kernel = each(sizes, (size) => random.int(1, Math.min(3, size)));
    const paddingMode = random.pick(['zeros', 'zeros', 'reflect', 'replicate', 'circular']);
    const padding = Math.min(random.int(0, 2), ...sizes.map((size) => size - 1));
    const options = random.some({ bias: () => random.chance(), stride: () => random.int(1, 2) });
    const fitting = sizes.every((size, axis) => size + 2 * padding >= 2 * (kernel[axis] - 1) + 1);
    return made(`Conv${axes}d`, [channels, groups * random.int(1, 3), kernel], {
      ...options,
      groups,
      padding,
      paddingMode,
      dilation: fitting ? random.int(1, 2) : 1,
    });
  });

export const transposed = (axes: number): Draw =>
  images(axes, (random, channels, sizes) => {
    const groups = random.pick([1, 1, channels]);
    const kernel = each(sizes, () => random.int(2, 3));
    const stride = random.int(1, 2);
    return made(`ConvTranspose${axes}d`, [channels, groups * random.int(1, 3), kernel], {
      ...random.some({ bias: () => random.chance(), dilation: () => random.int(1, 2) }),
      groups,
      stride,
      padding: random.int(0, 1) * Number(sizes.every((size) => size > 1)),
      outputPadding: stride - 1 && random.int(0, 1),
    });
  });

export const maxPool = (axes: number): Draw =>
  images(axes, (random, _, sizes) => {
    const kernel = each(sizes, (size) => random.int(1, Math.min(3, size)));
    return made(`MaxPool${axes}d`, [kernel], {
      ...random.some({ stride: () => random.int(1, 3), ceilMode: () => random.chance() }),
      padding: random.int(0, Math.floor(Math.min(...kernel) / 2)),
    });
  });

export const averagePool = (axes: number): Draw =>
  images(axes, (random, _, sizes) => {
    const kernel = each(sizes, (size) => random.int(1, Math.min(3, size)));
    const options = random.some({
      stride: () => random.int(1, 3),
      ceilMode: () => random.chance(),
      countIncludePad: () => random.chance(),
    });
    return made(`AvgPool${axes}d`, [kernel], {
      ...options,
      padding: random.int(0, Math.floor(Math.min(...kernel) / 2)),
    });
  });

export const adaptive = (name: string, axes: number): Draw =>
  images(axes, (random, _, sizes) =>
    made(name, [
      oneOrAll(
        random,
        each(sizes, (size) => random.int(1, size + 1)),
      ),
    ]),
  );

export const padding = (name: string, axes: number, most: (size: number) => number, value?: number): Draw =>
  images(axes, (random, _, sizes) => {
    // From the last dimension on, before and after.
    const counts = sizes
      .toReversed()
      .flatMap((size) => [0, 0].map(() => random.int(0, Math.min(2, most(size)))));
    const all = random.chance() ? Math.min(...counts) : counts;
    return made(name, value === undefined ? [all] : [all, value]);
  });
