import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { isTracingSizes } from '../graph/size-tracing.ts';
import { adaptiveAveragePool } from '../ops/adaptive-pooling.ts';
import { alongAxis, copiesAlong, matrixOf } from '../ops/resample.ts';
import { Tensor } from '../tensor/tensor.ts';
import { cubicTaps, linearTaps, nearestPositions, type Sampling, type Taps } from './sampling.ts';
import { requireAtLeast, requireResizable, sizesOf, type Sizes } from './sizes.ts';
import { withGradientOf } from './straight-through.ts';
import { requireChannels } from './unbatched.ts';

/** Algorithm of {@link interpolate}. */
export type InterpolationMode =
  ('nearest' | 'nearest-exact' | 'area') | ('linear' | 'bilinear' | 'bicubic' | 'trilinear');

/** Options of {@link interpolate} and of `nn.Upsample`. Either `size` or `scaleFactor` is required. */
export interface InterpolateOptions {
  /** The size of the output, without N and C. */
  size?: Sizes;
  /** Factor of the size, one for all axes or one for each axis; sizes are rounded down. */
  scaleFactor?: Sizes;
  /** 'linear' is for [N, C, L], 'bilinear' and 'bicubic' for [N, C, H, W], 'trilinear' for volumes. Default: 'nearest'. */
  mode?: InterpolationMode;
  /**
   * If true, aligns the centers of the corner elements of input and output; if false, their outer edges. Only for
   * modes with 'linear' or 'cubic' in their names. Default: false.
   */
  alignCorners?: boolean;
  /** If true, positions are computed from the rounded size instead of `scaleFactor`. Default: false. */
  recomputeScaleFactor?: boolean;
}

/** Numbers of axes after N and C that each mode supports. */
const axesOfMode: Readonly<Record<InterpolationMode, readonly number[]>> = {
  nearest: [1, 2, 3],
  'nearest-exact': [1, 2, 3],
  area: [1, 2, 3],
  linear: [1],
  bilinear: [2],
  bicubic: [2],
  trilinear: [3],
};

/**
 * Resizes [N, C, L], [N, C, H, W] or [N, C, D, H, W] (torch.nn.functional.interpolate, without `antialias`). Unlike in torch, an
 * infinite or NaN element makes its whole row and column NaN in the modes other than 'nearest' and 'nearest-exact'.
 *
 * @throws ShapeError for any other number of dimensions; ArgumentError for options that contradict each other
 */
export function interpolate(
  ...given: Call<[input: Tensor, options: InterpolateOptions], 'F.interpolate'>
): Tensor {
  const [images, options] = arranged('F.interpolate', given);
  const { mode = 'nearest', alignCorners } = options;
  // torch computes the areas of volumes by an adaptive pool.
  const isOfVolumes = mode === 'area' && images.shape.length === 5;
  const [input] = isOfVolumes ? autocastTensors('adaptiveAvgPool3d', images) : [images];
  if (isNarrow(input)) return roundedOnce([input], (x) => interpolate(x, options));
  if (!Object.hasOwn(axesOfMode, mode)) {
    throw new ArgumentError(
      `interpolate: mode must be one of ${Object.keys(axesOfMode).join(', ')}, got ${JSON.stringify(mode)}.`,
    );
  }
  if (alignCorners !== undefined && !/linear|cubic/.test(mode)) {
    throw new ArgumentError(
      `interpolate: alignCorners is for the modes linear, bilinear, bicubic and trilinear, got mode '${mode}'.`,
    );
  }
  const spatial = input.shape.slice(2);
  if (!isFloat(input) || !axesOfMode[mode].includes(spatial.length)) {
    const dimensions = axesOfMode[mode].map((axes) => axes + 2).join(', ');
    throw new ShapeError(
      `interpolate: mode '${mode}' expects float32 with ${dimensions} dimensions, got ${describeType(input)}.`,
    );
  }
  if (spatial.includes(0)) {
    throw new ShapeError(
      `interpolate: expected at least one element along each axis after the channels, got ${describeType(input)}.`,
    );
  }
  const samplings = samplingsOf(spatial, options);
  requireResizable(
    'interpolate',
    samplings.map(({ size }) => size),
  );
  if (mode === 'area') {
    return new Tensor(
      adaptiveAveragePool(
        input.value,
        samplings.map(({ size }) => size),
      ),
    );
  }
  requireChannels('interpolate', input);
  const resized = (given: readonly Sampling[]) =>
    new Tensor(
      given.reduce((image, sampling, axis) => resample(image, axis + 2, sampling, mode), input.value),
    );
  const [forward, backward] = passesOf(mode, samplings);
  // An exported model has no gradient.
  if (forward === backward || isTracingSizes()) return resized(forward);
  return withGradientOf(resized(forward), resized(backward));
}

/** Sampling as in torch, forward and backward: in some cases, an axis that keeps its size is copied, although its factor is not 1. */
function passesOf(
  mode: InterpolationMode,
  samplings: readonly Sampling[],
): [forward: readonly Sampling[], backward: readonly Sampling[]] {
  const keepsSize = ({ length, size }: Sampling) => length === size;
  const isScaled = ({ factor = 1 }: Sampling) => factor !== 1;
  if (mode === 'nearest-exact' || !samplings.some((one) => keepsSize(one) && isScaled(one))) {
    return [samplings, samplings];
  }
  const copying = samplings.map((one) => (keepsSize(one) ? { ...one, factor: 1 } : one));
  if (mode === 'bicubic') return [samplings, samplings.every(keepsSize) ? copying : samplings];
  if (mode === 'nearest' && samplings.length !== 2) return [samplings, copying];
  return [copying, copying];
}

function samplingsOf(spatial: readonly number[], options: InterpolateOptions): Sampling[] {
  const { size, scaleFactor, alignCorners = false, recomputeScaleFactor = false } = options;
  if ((size === undefined) === (scaleFactor === undefined)) {
    throw new ArgumentError('interpolate: expected either size or scaleFactor.');
  }
  if (size !== undefined) {
    if (recomputeScaleFactor) {
      throw new ArgumentError('interpolate: recomputeScaleFactor requires scaleFactor, got size.');
    }
    const sizes = requireAtLeast('interpolate: size', 1, size, spatial.length);
    return spatial.map((length, axis) => ({ length, size: sizes[axis], factor: undefined, alignCorners }));
  }
  const factors = sizesOf(scaleFactor!, spatial.length);
  return spatial.map((length, axis) => {
    const factor = factors[axis];
    const scaled = Math.floor(length * factor);
    if (factors.length !== spatial.length || !Number.isFinite(factor) || scaled < 1) {
      throw new ArgumentError(
        `interpolate: expected one scaleFactor or ${spatial.length}, for a size of at least 1, got ${factors.join('x')} for ${spatial.join('x')}.`,
      );
    }
    return { length, size: scaled, factor: recomputeScaleFactor ? undefined : factor, alignCorners };
  });
}

function resample(image: Value, axis: number, sampling: Sampling, mode: InterpolationMode): Value {
  const { length, size, factor } = sampling;
  if (length === size && (factor ?? 1) === 1 && !isTracingSizes()) return image;
  if (mode === 'nearest' || mode === 'nearest-exact') {
    // The factor holds for other lengths only if it is an integer.
    const mayRepeat = Number.isInteger(factor) || !isTracingSizes();
    return copiesAlong(image, axis, nearestPositions(sampling, mode === 'nearest-exact'), mayRepeat);
  }
  const taps = (mode === 'bicubic' ? cubicTaps : linearTaps)(sampling);
  return alongAxis(image, axis, weightsOf(taps, sampling.length));
}

/** [size, length] */
export function weightsOf(taps: Taps, length: number): Value {
  return matrixOf(taps.length, length, (row, column) =>
    taps[row].reduce((sum, { position, weight }) => (position === column ? sum + weight : sum), 0),
  );
}
