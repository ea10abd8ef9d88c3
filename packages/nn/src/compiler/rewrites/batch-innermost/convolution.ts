import type { Value } from '../../../graph/node.ts';
import { conv } from '../../../ops/convolution.ts';
import { gemm } from '../../../ops/linear-algebra.ts';
import { concat, reshape, slice, transpose } from '../../../ops/shape.ts';
import { constantTensor } from '../../../ops/source.ts';
import { largestTile, toomCook } from './toom-cook.ts';

/**
 * A convolution with stride 1 and no padding over an image with its batch innermost: [W, C, H, N] and [M, C, kH, kW] give
 * [W − kW + 1, M, H − kH + 1, N].
 *
 * Along the width the kernel is unrolled, so that what is left is a convolution along the height, in whose columns N lies innermost.
 */
export function convolveBatchInnermost(image: Value, weight: Value): Value {
  const [, channels, , kernelWidth] = weight.shape as [number, number, number, number];
  // Every multiplication that is saved costs additions per channel and per filter, which few channels do not repay. A kernel of width 1 has none to save.
  const fast = channels >= 8 && kernelWidth > 1 && largestTile(kernelWidth) >= 2;
  return fast ? withFewerProducts(image, weight) : withShiftedColumns(image, weight);
}

/** The kernel's columns become channels: the image beside itself, shifted by 0 … kW − 1. */
function withShiftedColumns(image: Value, weight: Value): Value {
  const [filters, channels, kernelHeight, kernelWidth] = weight.shape as [number, number, number, number];
  const outWidth = image.shape[0] - kernelWidth + 1;
  const shifted = Array.from({ length: kernelWidth }, (_, j) => slice(image, 0, j, j + outWidth));
  const tall = reshape(transpose(weight, [0, 3, 1, 2]), [filters, kernelWidth * channels, kernelHeight, 1]);
  return conv(concat(shifted, 1), tall, undefined, along(1));
}

/**
 * Toom-Cook along the width: tiles of 4 results of a kernel 5 wide cost 8 products instead of 20. The products of one point are a
 * convolution of their own, so the points are groups, and the tiles a batch.
 */
function withFewerProducts(image: Value, weight: Value): Value {
  const [filters, channels, kernelHeight, kernelWidth] = weight.shape as [number, number, number, number];
  const [width, , height, n] = image.shape as [number, number, number, number];
  const outWidth = width - kernelWidth + 1;
  const outHeight = height - kernelHeight + 1;
  const fast = toomCook(Math.min(largestTile(kernelWidth), outWidth), kernelWidth);
  const { tile, products } = fast;
  const tiles = Math.ceil(outWidth / tile);

  const toPoints = blocks(tiles * products, width, (row, column) => {
    const start = Math.floor(row / products) * tile;
    return fast.inputTransform[row % products][column - start] ?? 0;
  });
  const atPoints = reshape(gemm(toPoints, reshape(image, [width, channels * height * n])), [
    tiles,
    products * channels,
    height,
    n,
  ]);

  const kernelToPoints = blocks(kernelWidth, products, (tap, point) => fast.weightTransform[point][tap]);
  const kernels = reshape(
    transpose(
      reshape(gemm(reshape(weight, [filters * channels * kernelHeight, kernelWidth]), kernelToPoints), [
        filters,
        channels,
        kernelHeight,
        products,
      ]),
      [3, 0, 1, 2],
    ),
    [products * filters, channels, kernelHeight, 1],
  );

  const multiplied = conv(atPoints, kernels, undefined, along(products));
  const fromPoints = blocks(outWidth, tiles * products, (row, column) => {
    const sameTile = Math.floor(column / products) === Math.floor(row / tile);
    return sameTile ? fast.outputTransform[row % tile][column % products] : 0;
  });
  const result = gemm(fromPoints, reshape(multiplied, [tiles * products, filters * outHeight * n]));
  return reshape(result, [outWidth, filters, outHeight, n]);
}

/** A constant matrix whose element is a function of its place. */
function blocks(rows: number, columns: number, element: (row: number, column: number) => number): Value {
  const places = Array.from({ length: rows * columns }, (_, place) => place);
  return constantTensor(
    [rows, columns],
    places.map((place) => element(Math.floor(place / columns), place % columns)),
  );
}

function along(group: number) {
  return { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group } as const;
}
