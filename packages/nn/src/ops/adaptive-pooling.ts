import type { Value } from '../graph/node.ts';
import { max } from './elementwise.ts';
import { requireImages } from './images.ts';
import { indexSelect } from './indexing.ts';
import { averagePool, maxPool } from './pooling.ts';
import { reduceMean } from './reduction.ts';
import { alongAxis, matrixOf } from './resample.ts';

/**
 * Averages images of any size to a fixed size, as torch.nn.functional.adaptive_avg_pool2d: window i of h covers rows
 * ⌊i·H/h⌋ to ⌈(i + 1)·H/h⌉ of H.
 *
 * @param data [N, C, H, W]
 * @returns [N, C, ...size]
 */
export function adaptiveAveragePool(data: Value, size: readonly number[]): Value {
  const [, , ...spatial] = requireImages('adaptiveAvgPool', data, size.length);
  if (size.every((windows) => windows === 1)) return reduceMean(data, imageAxes(size), true);
  const window = evenWindow(spatial, size);
  if (window) return averagePool(data, { ...window, countIncludePad: true });
  // Along each axis, pooling is a linear map whose matrix has one row of equal weights per window.
  return spatial.reduce((image, length, axis) => {
    const windows = windowsOf(length, size[axis]);
    const means = matrixOf(windows.length, length, (row, index) => {
      const { start, end } = windows[row];
      return index >= start && index < end ? 1 / (end - start) : 0;
    });
    return alongAxis(image, axis + 2, means);
  }, data);
}

/**
 * Max-pools images of any size, with the windows of `adaptiveAveragePool`, as
 * torch.nn.functional.adaptive_max_pool2d. The first of equal elements receives the gradient.
 */
export function adaptiveMaxPool(data: Value, size: readonly number[]): Value {
  const [, , ...spatial] = requireImages('adaptiveMaxPool', data, size.length);
  const window = evenWindow(spatial, size);
  if (window) return maxPool(data, window);
  // The last axis first, so that of equal elements the first in row-major order is found.
  return imageAxes(size)
    .toReversed()
    .reduce((image, axis) => {
      const windows = windowsOf(image.shape[axis], size[axis - 2]);
      const longest = Math.max(...windows.map(({ start, end }) => end - start));
      const tap = (k: number) => windows.map(({ start, end }) => Math.min(start + k, end - 1));
      return Array.from({ length: longest }, (_, k) => indexSelect(image, axis, tap(k))).reduce(max);
    }, data);
}

/** The window of a pool with equal windows that do not overlap; undefined if the sizes are not multiples. */
function evenWindow(spatial: readonly number[], size: readonly number[]) {
  const kernelShape = spatial.map((length, axis) => length / size[axis]);
  if (!kernelShape.every(Number.isInteger)) return undefined;
  return { kernelShape, strides: kernelShape, pads: [...spatial, ...spatial].map(() => 0) };
}

function windowsOf(length: number, windows: number): { start: number; end: number }[] {
  return Array.from({ length: windows }, (_, window) => ({
    start: Math.floor((window * length) / windows),
    end: Math.ceil(((window + 1) * length) / windows),
  }));
}

function imageAxes(size: readonly number[]): number[] {
  return size.map((_, axis) => axis + 2);
}
