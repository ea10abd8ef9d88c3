import { isNode, type Value } from '../../../../graph/node.ts';
import type { ConvAttributes } from '../../../../graph/attributes.ts';
import { dependsOnParameter } from '../../../../graph/topology.ts';
import { conv } from '../../../../ops/convolution.ts';
import { cast, widened } from '../../../../ops/elementwise.ts';
import { gemm, matmul } from '../../../../ops/linear-algebra.ts';
import { concat, reshape, transpose } from '../../../../ops/shape.ts';
import { constantTensor } from '../../../../ops/source.ts';
import { matrixOf } from '../../../../ops/resample.ts';
import { unfoldByTap } from '../../../../ops/unfold.ts';
import { toomCookConvolve } from '../../../../ops/own/toom-cook-convolve.ts';
import { bfloat16Instructions } from '../../../../ops/own/bfloat16-instructions.ts';
import { directConvolve } from '../../../../ops/own/direct-convolve.ts';
import { unrounded } from '../../../../ops/own/innermost-convolution.ts';
import { largestTileOfBothAxes, toomCookConvolve2d } from '../../../../ops/own/toom-cook-convolve-2d.ts';
import {
  bestTile,
  largestStridedTile,
  largestTile,
  toomCook,
  type ToomCook,
} from '../../../../ops/toom-cook.ts';
import { usesOwnOperators } from '../../../../ops/own/enabled.ts';

/**
 * A convolution of one group over an image with its batch innermost: [W, C, H, N] and [M, C, kH, kW] give [oW, M, oH, N].
 *
 * The kernel is unrolled along the width, which leaves a convolution along the height with N innermost in its columns.
 */
export function convolveBatchInnermost(image: Value, weight: Value, window: ConvAttributes): Value {
  const [, channels, kernelHeight, kernelWidth] = weight.shape as [number, number, number, number];
  const { strides, dilations } = window;
  if (usesOwnOperators() && suitsDirectProducts(image, weight, window))
    return directConvolve(image, weight, window);
  const possible = dilations[1] === 1 && noTapReadsOnlyPadding(image, weight, window);
  if (!possible) return inFloat32(withShiftedColumns, image, weight, window);
  // A kernel of width 1 has no multiplications to save.
  const saves = kernelWidth > 1 && largestTile(kernelWidth) >= 2;
  const skipsRowsTwice = strides[0] > 1 && dilations[0] > 1 && kernelHeight > 1;
  const isStrided = strides.some((stride) => stride > 1);
  const fitsOperator = isStrided ? !skipsRowsTwice && largestStridedTile(kernelWidth, strides[1]) > 0 : saves;
  const suitsOperator = fitsOperator && (keepsSize(image, weight, window) || !dependsOnParameter(image));
  if (usesOwnOperators() && suitsOperator) {
    const convolve = suitsBothAxes(image, weight, window) ? toomCookConvolve2d : toomCookConvolve;
    return convolve(image, weight, window);
  }
  return saves && strides[1] === 1 && channels >= minChannels
    ? inFloat32(withFewerProducts, image, weight, window)
    : inFloat32(withShiftedColumns, image, weight, window);
}

type Convolution = (image: Value, weight: Value, window: ConvAttributes) => Value;

/** Between the image and the result there are several operators of onnxruntime, which has none for bfloat16. */
function inFloat32(convolve: Convolution, image: Value, weight: Value, window: ConvAttributes): Value {
  return cast(convolve(widened(image), unrounded(weight), window), image.dtype);
}

/**
 * True if the results, times the strides, are about as many as the places of the image. Otherwise the operator's gradient of the
 * image, which is a convolution with more padding, costs more products than the transpose of the products: a step of the MNIST CNN,
 * whose second convolution leaves 8×8 of 12×12, takes a quarter longer with the operator. A batch of data needs no gradient: a step
 * of the CIFAR-10 CNN takes a quarter less with the operator as its first convolution, 28×28 of 32×32.
 */
function keepsSize(image: Value, weight: Value, { strides, pads, dilations }: ConvAttributes): boolean {
  const [width, , height] = image.shape;
  const [, , kernelHeight, kernelWidth] = weight.shape;
  const [top, left, bottom, right] = pads;
  const strided = (size: number, axis: number) => Math.ceil(size / strides[axis]);
  const results =
    strided(height + top + bottom - (kernelHeight - 1) * dilations[0], 0) *
    strided(width + left + right - kernelWidth + 1, 1);
  const places = strided(height, 0) * strided(width, 1);
  return results > 0.8 * places && results < 1.25 * places;
}

/**
 * AVX512_BF16 multiplies twice as fast in bfloat16 as AVX-512 in float32, and AMX about eight times. Tiles save up to three quarters of
 * the products, but at most a quarter along an axis with a stride, and nothing of 1×1. With AMX, direct products of few channels or
 * filters would leave most of a 16×32 tile of its registers empty. Derived from the rates for AMX, not measured.
 */
export function suitsDirectProducts(
  image: Value,
  { shape: [filters, channels, kernelHeight, kernelWidth] }: Value,
  { strides }: ConvAttributes,
  instructions = bfloat16Instructions(),
): boolean {
  if (image.dtype !== 'bfloat16' || instructions === undefined) return false;
  const isStrided = strides.some((stride) => stride > 1);
  const isPointwise = kernelHeight === 1 && kernelWidth === 1;
  const fillsTiles = filters >= 16 && channels >= 16;
  return isStrided || isPointwise || (instructions === 'amx' && fillsTiles);
}

/**
 * Tiles along both axes save half of the products of tiles along the width, but their transforms cost more for each channel and filter.
 */
function suitsBothAxes(image: Value, weight: Value, window: ConvAttributes): boolean {
  const [filters, channels, kernelHeight, kernelWidth] = weight.shape;
  const { strides, dilations } = window;
  const isPlain = [...strides, ...dilations].every((step) => step === 1);
  const saves = [kernelHeight, kernelWidth].every((taps) => taps > 1 && largestTileOfBothAxes(taps) >= 4);
  const reads = noTapReadsOnlyPaddingAlong(1, image.shape[2], kernelHeight, window);
  return isPlain && saves && reads && Math.min(filters, channels) >= minChannelsOfBothAxes;
}

const minChannelsOfBothAxes = 32;

/**
 * Each multiplication that matrix products save costs additions per channel and per filter. With 6 filters of 5×5 over 64 images
 * of 32×32, a training step takes 1/5 less time for 3 channels, and 1/6 more for 1 channel.
 */
const minChannels = 3;

/**
 * True if each column of the kernel and each output column reads the image, not only padding, and each column of the image is
 * read. Otherwise a gradient or value is exactly 0, which the transforms would round to 3e-8; Adam divides by the gradient's size
 * and would take full steps. A kernel of width 1 is not transformed.
 */
function noTapReadsOnlyPadding(image: Value, weight: Value, window: ConvAttributes): boolean {
  return noTapReadsOnlyPaddingAlong(0, image.shape[0], weight.shape[3], window);
}

/** The same along the width (0) or the height (1), whose places in the lists of a window are in reverse order. */
function noTapReadsOnlyPaddingAlong(
  axis: 0 | 1,
  size: number,
  taps: number,
  { strides, pads }: ConvAttributes,
): boolean {
  const [before, after] = [pads[1 - axis], pads[3 - axis]];
  const stride = strides[1 - axis];
  if (taps === 1) return true;
  const results = Math.floor((size + before + after - taps) / stride) + 1;
  const lastBegins = (results - 1) * stride - before;
  const reads = (tap: number) => {
    // The first result whose place for this tap is not in the padding before the image.
    const first = Math.max(0, Math.ceil((before - tap) / stride));
    return first < results && first * stride + tap - before < size;
  };
  const readsTo = lastBegins + taps;
  const tapsRead = Array.from({ length: taps }, (_, tap) => tap).every(reads);
  return before < taps && tapsRead && lastBegins < size && (stride === 1 || readsTo >= size);
}

/** The kernel's columns become channels: the columns of the image that each of them reads are concatenated. */
function withShiftedColumns(image: Value, weight: Value, window: ConvAttributes): Value {
  const [filters, channels, kernelHeight, kernelWidth] = weight.shape as [number, number, number, number];
  const { strides, pads, dilations } = window;
  const axisWindow = { stride: strides[1], dilation: dilations[1], before: pads[1], after: pads[3] };
  const columns = concat(unfoldByTap(image, 0, kernelWidth, axisWindow), 1);
  const tall = reshape(transpose(weight, [0, 3, 1, 2]), [filters, kernelWidth * channels, kernelHeight, 1]);
  return conv(columns, tall, undefined, alongHeight(window, 1));
}

/**
 * Toom-Cook along the width, as matrix products of onnxruntime: a tile of 4 results of a kernel of width 5 costs 8 products instead of 20. The products of one
 * point are a convolution, so points become groups and tiles become a batch.
 */
function withFewerProducts(image: Value, weight: Value, window: ConvAttributes): Value {
  const [filters, channels, kernelHeight, kernelWidth] = weight.shape as [number, number, number, number];
  const [width, , height, n] = image.shape as [number, number, number, number];
  const [, left, , right] = window.pads;
  const outWidth = width + left + right - kernelWidth + 1;
  const fast = toomCook(bestTile(outWidth, kernelWidth), kernelWidth);
  const { tile, products } = fast;
  const tiles = Math.ceil(outWidth / tile);

  // Padding columns are zeros, so the transform omits them.
  const toPoints = matrixOf(tiles * products, width, (row, column) => {
    const start = Math.floor(row / products) * tile - left;
    return fast.inputTransform[row % products][column - start] ?? 0;
  });
  const atPoints = reshape(timesImage(toPoints, image), [tiles, products * channels, height, n]);

  const kernelToPoints = matrixOf(products, kernelWidth, (point, tap) => fast.weightTransform[point][tap]);
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
 * A linear map along the width: [K, W] times [W, C, H, N] gives [K, C·H·N]. If the image was transposed only for this, the
 * product reads it transposed (transB), so that only whole rows move.
 */
function timesImage(matrix: Value, image: Value): Value {
  const [width] = image.shape;
  if (!isNode(image.node, 'SwapOuterAxes')) return gemm(matrix, reshape(image, [width, -1]));
  const rows = reshape(transpose(image.node.inputs[0], [1, 2, 0, 3]), [-1, width]);
  return gemm(matrix, rows, undefined, { transB: true });
}

/**
 * The output transform of all tiles as one matrix, for a last tile that is not full. Most of the matrix is zeros: if all
 * tiles are full, one product per tile takes a third of the time (7 tiles of 4 results, 10,752 columns).
 */
function alongTiles(outWidth: number, tiles: number, { tile, products, outputTransform }: ToomCook): Value {
  return matrixOf(outWidth, tiles * products, (row, column) => {
    const sameTile = Math.floor(column / products) === Math.floor(row / tile);
    return sameTile ? outputTransform[row % tile][column % products] : 0;
  });
}

/** The window along the height, after its columns have been unrolled. */
function alongHeight({ strides, pads, dilations }: ConvAttributes, group: number): ConvAttributes {
  const [top, , bottom] = pads;
  return { strides: [strides[0], 1], pads: [top, 0, bottom, 0], dilations: [dilations[0], 1], group };
}
