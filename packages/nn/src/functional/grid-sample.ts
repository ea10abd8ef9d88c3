import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { ones } from '../tensor/creation.ts';
import { stack, where } from '../tensor/combine.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { gatherElements } from '../ops/indexing.ts';
import { requireOneOf } from '../checks/require-one-of.ts';
import { tensor, Tensor } from '../tensor/tensor.ts';

/** Options of {@link gridSample}. */
export interface GridSampleOptions {
  /** Interpolation between pixels, or the nearest pixel. Default: 'bilinear'. */
  mode?: 'bilinear' | 'nearest';
  /** Outside of the image: 0, the nearest border pixel, or the mirrored image. Default: 'zeros'. */
  paddingMode?: 'zeros' | 'border' | 'reflection';
  /** If true, −1 and 1 are the centers of the outer pixels, else their outer edges. Default: false. */
  alignCorners?: boolean;
}

/**
 * Samples an image at the points of a grid (torch.nn.functional.grid_sample; Jaderberg and others, 2015), with gradients of image
 * and of grid.
 *
 * - `input`: [N, C, H, W]
 * - `grid`: [N, h, w, 2]: x and y of each point, from −1 (left, top) to 1 (right, bottom)
 * @returns [N, C, h, w]
 */
export function gridSample(
  ...given: Call<[input: Tensor, grid: Tensor, options?: GridSampleOptions | undefined], 'F.gridSample'>
): Tensor {
  const [givenInput, givenGrid, options] = arranged('F.gridSample', given);
  const [input, grid] = autocastTensors('gridSample', givenInput, givenGrid);
  if (isNarrow(input, grid)) return roundedOnce([input, grid], (x, g) => gridSample(x, g, options));
  const { mode = 'bilinear', paddingMode = 'zeros', alignCorners = false } = options;
  requireOneOf('gridSample', 'mode', mode, ['bilinear', 'nearest']);
  requireOneOf('gridSample', 'paddingMode', paddingMode, ['zeros', 'border', 'reflection']);
  const [batch, channels, height, width] = input.shape;
  if (input.shape.length !== 4 || grid.shape.length !== 4 || grid.shape[0] !== batch || grid.shape[3] !== 2) {
    throw new ShapeError(
      `gridSample: expected an input [N,C,H,W] and a grid [N,h,w,2], got ${describeType(input)} and ${describeType(grid)}.`,
    );
  }
  if (height === 0 || width === 0) {
    throw new ShapeError(`gridSample: expected images with at least one pixel, got ${describeType(input)}.`);
  }
  const points = [batch, 1, grid.shape[1] * grid.shape[2]];
  const place = (axis: number, size: number) => {
    const position = pixelOf(grid.select(3, axis).reshape(...points), size, alignCorners);
    return paddingMode === 'zeros' ? position : inside(position, size, paddingMode, alignCorners);
  };
  const [x, y] = [place(0, width), place(1, height)];
  const pixels = input.flatten(2);
  /** The pixels at whole positions, 0 outside. */
  const at = (column: Tensor, row: Tensor): Tensor => {
    const isInside = within(column, width).logicalAnd(within(row, height));
    const [line, place] = [row, column].map((position) => where(isInside, position, 0).long());
    const index = line.mul(width).add(place).expand(batch, channels, points[2]);
    const values = new Tensor(gatherElements(pixels.value, index.value, 2));
    return values.mul(isInside.float());
  };
  const sampled = mode === 'nearest' ? at(x.round(), y.round()) : interpolated(at, x, y);
  return sampled.reshape(batch, channels, grid.shape[1], grid.shape[2]);
}

/** Options of {@link affineGrid}. */
export interface AffineGridOptions {
  /** See `gridSample`. Default: false. */
  alignCorners?: boolean;
}

/**
 * A sampling grid of affine maps for `gridSample` (torch.nn.functional.affine_grid).
 *
 * - `theta`: [N, 2, 3]: the maps from the output's points (x, y, 1) to those of the input
 * - `size`: [N, C, H, W] of the output
 * @returns [N, H, W, 2]
 */
export function affineGrid(
  ...given: Call<
    [theta: Tensor, size: readonly number[], options?: AffineGridOptions | undefined],
    'F.affineGrid'
  >
): Tensor {
  const [theta, size, options] = arranged('F.affineGrid', given);
  if (isNarrow(theta)) return roundedOnce([theta], (maps) => affineGrid(maps, size, options));
  const [batch, , height, width] = size;
  if (theta.shape.join() !== `${batch},2,3` || size.length !== 4) {
    throw new ShapeError(
      `affineGrid: expected maps [N,2,3] and a size [N,C,H,W], got ${describeType(theta)} and [${size.join()}].`,
    );
  }
  const x = positions(width, options.alignCorners ?? false)
    .unsqueeze(0)
    .expand(height, width);
  const y = positions(height, options.alignCorners ?? false)
    .unsqueeze(1)
    .expand(height, width);
  const points = stack([x, y, ones([height, width])], 2).view(1, height * width, 3);
  return points.expand(batch, -1, -1).matmul(theta.mT).view(batch, height, width, 2);
}

/** The centers of pixels, from −1 to 1. */
function positions(size: number, alignCorners: boolean): Tensor {
  const place = (i: number) => (alignCorners ? (2 * i) / Math.max(1, size - 1) : (2 * i + 1) / size);
  const center = alignCorners && size === 1 ? 0 : 1;
  return tensor(Float32Array.from({ length: size }, (_, i) => place(i) - center));
}

/** The position in pixels of a coordinate from −1 to 1. */
function pixelOf(coordinate: Tensor, size: number, alignCorners: boolean): Tensor {
  const shifted = coordinate.add(1);
  return alignCorners ? shifted.mul((size - 1) / 2) : shifted.mul(size / 2).add(-0.5);
}

/** Positions within the image: those of the nearest border pixels, or of the mirrored image. */
function inside(
  position: Tensor,
  size: number,
  mode: 'border' | 'reflection',
  alignCorners: boolean,
): Tensor {
  if (mode === 'border') return position.clamp(0, size - 1);
  const low = alignCorners ? 0 : -0.5;
  const span = alignCorners ? size - 1 : size;
  if (span === 0) return position.mul(0);
  const distance = position.add(-low).abs();
  const rest = distance.fmod(span);
  const isMirrored = distance.div(span).floor().remainder(2).eq(1);
  return where(isMirrored, rest.neg().add(span), rest)
    .add(low)
    .clamp(0, size - 1);
}

function within(position: Tensor, size: number): Tensor {
  return position.ge(0).logicalAnd(position.le(size - 1));
}

function interpolated(at: (column: Tensor, row: Tensor) => Tensor, x: Tensor, y: Tensor): Tensor {
  const [left, top] = [x.floor(), y.floor()];
  const [toRight, toBottom] = [x.sub(left), y.sub(top)];
  const [toLeft, toTop] = [toRight.neg().add(1), toBottom.neg().add(1)];
  const [right, bottom] = [left.add(1), top.add(1)];
  return at(left, top)
    .mul(toLeft.mul(toTop))
    .add(at(right, top).mul(toRight.mul(toTop)))
    .add(at(left, bottom).mul(toLeft.mul(toBottom)))
    .add(at(right, bottom).mul(toRight.mul(toBottom)));
}
