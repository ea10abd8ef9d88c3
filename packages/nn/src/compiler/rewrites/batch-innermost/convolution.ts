import { isNode, type Value } from '../../../graph/node.ts';
import type { ConvAttributes } from '../../../graph/operators.ts';
import { conv } from '../../../ops/convolution.ts';
import { gemm, matmul } from '../../../ops/linear-algebra.ts';
import { concat, reshape, transpose } from '../../../ops/shape.ts';
import { constantTensor } from '../../../ops/source.ts';
import { seenByTaps } from '../../../ops/taps.ts';
import { largestTile, toomCook, type ToomCook } from './toom-cook.ts';

/**
 * A convolution of one group over an image with its batch innermost: [W, C, H, N] and [M, C, kH, kW] give [oW, M, oH, N].
 *
 * Along the width the kernel is unrolled, so that what is left is a convolution along the height, in whose columns N lies innermost.
 */
export function convolveBatchInnermost(image: Value, weight: Value, window: ConvAttributes): Value {
  const [, channels, , kernelWidth] = weight.shape as [number, number, number, number];
  const { strides, dilations } = window;
  // Every multiplication that is saved costs additions per channel and per filter, which few channels do not repay. A kernel of width 1 has none to save.
  const worth = channels >= leastChannels && kernelWidth > 1 && largestTile(kernelWidth) >= 2;
  const possible = strides[1] === 1 && dilations[1] === 1 && nothingMeetsPaddingAlone(image, weight, window);
  return worth && possible
    ? withFewerProducts(image, weight, window)
    : withShiftedColumns(image, weight, window);
}

/** For 3 channels and 6 filters of 5×5 over 64 images of 32×32 a whole training step takes a fifth less; for 1 channel it takes a sixth more. */
const leastChannels = 3;

/**
 * Whether each of the kernel's columns meets the image somewhere, and each result too. One that does not has a gradient, or a value, of exactly 0, of which the
 * transforms' rounding would make 3e-8; Adam, which divides by the size of the gradients, would make steps of full length of that.
 */
function nothingMeetsPaddingAlone(image: Value, weight: Value, { pads }: ConvAttributes): boolean {
  const [width] = image.shape;
  const [, , , taps] = weight.shape;
  const [, left, , right] = pads;
  const results = width + left + right - taps + 1;
  const lastTapBegins = taps - 1 - left;
  return left < Math.min(taps, results) && lastTapBegins < width && results - 1 - left < width;
}

/** The kernel's columns become channels: beside each other, the columns of the image that each of them sees. */
function withShiftedColumns(image: Value, weight: Value, window: ConvAttributes): Value {
  const [filters, channels, kernelHeight, kernelWidth] = weight.shape as [number, number, number, number];
  const { strides, pads, dilations } = window;
  const course = { stride: strides[1], dilation: dilations[1], before: pads[1], after: pads[3] };
  const columns = concat(seenByTaps(image, 0, kernelWidth, course), 1);
  const tall = reshape(transpose(weight, [0, 3, 1, 2]), [filters, kernelWidth * channels, kernelHeight, 1]);
  return conv(columns, tall, undefined, alongHeight(window, 1));
}

/**
 * Toom-Cook along the width: tiles of 4 results of a kernel 5 wide cost 8 products instead of 20. The products of one point are a
 * convolution of their own, so the points are groups, and the tiles a batch.
 */
function withFewerProducts(image: Value, weight: Value, window: ConvAttributes): Value {
  const [filters, channels, kernelHeight, kernelWidth] = weight.shape as [number, number, number, number];
  const [width, , height, n] = image.shape as [number, number, number, number];
  const [, left, , right] = window.pads;
  const outWidth = width + left + right - kernelWidth + 1;
  const fast = toomCook(bestTile(outWidth, kernelWidth), kernelWidth);
  const { tile, products } = fast;
  const tiles = Math.ceil(outWidth / tile);

  // Columns of the padding are zeros, so they have no place in the transform.
  const toPoints = blocks(tiles * products, width, (row, column) => {
    const start = Math.floor(row / products) * tile - left;
    return fast.inputTransform[row % products][column - start] ?? 0;
  });
  const atPoints = reshape(timesImage(toPoints, image), [tiles, products * channels, height, n]);

  const kernelToPoints = blocks(products, kernelWidth, (point, tap) => fast.weightTransform[point][tap]);
  const taps = reshape(weight, [filters * channels * kernelHeight, kernelWidth]);
  const kernels = reshape(gemm(kernelToPoints, taps, undefined, { transB: true }), [
    products * filters,
    channels,
    kernelHeight,
    1,
  ]);

  const multiplied = conv(atPoints, kernels, undefined, alongHeight(window, products));
  const [, , outHeight] = multiplied.shape as [number, number, number, number];
  const columns = filters * outHeight * n;
  const results =
    outWidth % tile === 0
      ? matmul(
          constantTensor([tile, products], fast.outputTransform.flat()),
          reshape(multiplied, [tiles, products, columns]),
        )
      : gemm(alongTiles(outWidth, tiles, fast), reshape(multiplied, [tiles * products, columns]));
  return reshape(results, [outWidth, filters, outHeight, n]);
}

/**
 * A linear map along the width, [K, W] times [W, C, H, N], gives [K, C·H·N]. For an image that was turned for this only, the product turns what it reads: its rows need to be put in
 * order, and no number moves alone.
 */
function timesImage(matrix: Value, image: Value): Value {
  const [width] = image.shape;
  if (!isNode(image.node, 'ExchangeEnds')) return gemm(matrix, reshape(image, [width, -1]));
  const rows = reshape(transpose(image.node.inputs[0], [1, 2, 0, 3]), [-1, width]);
  return gemm(matrix, rows, undefined, { transB: true });
}

/**
 * The output transform of all tiles as one matrix, for a last tile of which not all results are wanted. Most of it is zeros: where all tiles are full, a product per tile takes a
 * third of the time (7 tiles of 4 results, 10,752 columns).
 */
function alongTiles(outWidth: number, tiles: number, { tile, products, outputTransform }: ToomCook): Value {
  return blocks(outWidth, tiles * products, (row, column) => {
    const sameTile = Math.floor(column / products) === Math.floor(row / tile);
    return sameTile ? outputTransform[row % tile][column % products] : 0;
  });
}

/** The tile with the fewest products for all results together; of equals the smallest, whose transform rounds least. */
function bestTile(results: number, taps: number): number {
  const tiles = Array.from({ length: Math.min(largestTile(taps), results) }, (_, k) => k + 1);
  const products = (tile: number) => Math.ceil(results / tile) * (tile + taps - 1);
  return tiles.reduce((best, tile) => (products(tile) < products(best) ? tile : best));
}

/** A constant matrix whose element is a function of its place. */
function blocks(rows: number, columns: number, element: (row: number, column: number) => number): Value {
  const places = Array.from({ length: rows * columns }, (_, place) => place);
  return constantTensor(
    [rows, columns],
    places.map((place) => element(Math.floor(place / columns), place % columns)),
  );
}

/** What is left of a window when its columns are unrolled. */
function alongHeight({ strides, pads, dilations }: ConvAttributes, group: number): ConvAttributes {
  const [top, , bottom] = pads;
  return { strides: [strides[0], 1], pads: [top, 0, bottom, 0], dilations: [dilations[0], 1], group };
}
