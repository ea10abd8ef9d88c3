import { where } from '../../../tensor/combine.ts';
import { weightsOf } from '../../../functional/interpolation.ts';
import { cubicWeight } from '../../../functional/sampling.ts';
import { alongAxis, copiesAlong } from '../../../ops/resample.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import type { OperatorCall } from '../call.ts';
import { asTensor, constantArray } from '../constant-array.ts';
import { axisOf } from '../folding.ts';
import {
  every,
  flag,
  float,
  floating,
  floats,
  input,
  integral,
  ints,
  known,
  oneOf,
  operator,
  optional,
  since,
  until,
  type ContentsOf,
  type NodeFacts,
  type OperatorVersions,
} from '../specification.ts';
import { placesOf, type Axis, type Coordinates } from './coordinates.ts';
import { filterTaps, linearWeight, nearest, type NearestMode } from './taps.ts';

type Mode = 'nearest' | 'linear' | 'cubic';
type AspectPolicy = 'stretch' | 'not_larger' | 'not_smaller';

/** Settings of a node that resizes. */
interface Settings {
  readonly mode: Mode;
  readonly coordinate_transformation_mode: Coordinates;
  readonly nearest_mode: NearestMode;
  readonly cubic_coeff_a: number;
  readonly exclude_outside: number;
  readonly extrapolation_value: number;
  readonly antialias: number;
}

/** The behaviour of Upsample and of Resize in opset 10. */
const asymmetric: Omit<Settings, 'mode'> = {
  coordinate_transformation_mode: 'asymmetric',
  nearest_mode: 'floor',
  cubic_coeff_a: -0.75,
  exclude_outside: 0,
  extrapolation_value: 0,
  antialias: 0,
};

const settings = {
  mode: oneOf<Mode>('nearest', 'linear', 'cubic'),
  coordinate_transformation_mode: oneOf<Coordinates>(
    'half_pixel',
    'pytorch_half_pixel',
    'align_corners',
    'asymmetric',
    'tf_half_pixel_for_nn',
    'tf_crop_and_resize',
    'half_pixel_symmetric',
  ),
  nearest_mode: oneOf<NearestMode>('round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'),
  cubic_coeff_a: float(-0.75),
  exclude_outside: flag(0),
  extrapolation_value: float(0),
  antialias: since(18, flag(0)),
  axes: since(18, ints),
  keep_aspect_ratio_policy: since(18, oneOf<AspectPolicy>('stretch', 'not_larger', 'not_smaller')),
};

/** Only modes that copy elements support every dtype. */
function refuseDtypes({
  attributes: { mode },
  dtype,
}: NodeFacts<{ readonly mode: Mode }>): string | undefined {
  const type = dtype(0) ?? 'float32';
  return mode === 'nearest' || type === 'float32'
    ? undefined
    : `expected float32 in mode ${mode}, got ${type}`;
}

function refuseResize(facts: NodeFacts<ContentsOf<typeof settings>>): string | undefined {
  if (facts.attributes.coordinate_transformation_mode === 'align_corners' && facts.isInput(2)) {
    return 'expected sizes, or scales that the file has, with align_corners, got scales that are an input';
  }
  return refuseDtypes(facts);
}

const types = { T: every, S: floating, I: integral };
const oldMode = { mode: oneOf<Mode>('nearest', 'linear') };

/** Resize, and Upsample before it. */
export const resizeOperators = {
  Upsample: operator({
    until: 9,
    types,
    inputs: [input('X'), since(9, known(input('scales', 'S')))],
    attributes: { ...oldMode, scales: until(8, { ...floats, isRequired: true }) },
    refuse: refuseDtypes,
    compute: (call) => {
      const scales = call.attributes.scales ?? call.numbers(1)!;
      return resized(call, { ...asymmetric, ...call.attributes }, { scales });
    },
  }),
  Resize: [
    ...operator({
      since: 10,
      until: 10,
      types,
      inputs: [input('X'), known(input('scales', 'S'))],
      attributes: oldMode,
      refuse: refuseDtypes,
      compute: (call) => resized(call, { ...asymmetric, ...call.attributes }, { scales: call.numbers(1)! }),
    }),
    ...operator({
      since: 11,
      types,
      inputs: [
        input('X'),
        known(optional('roi', 'S')),
        known(optional('scales', 'S')),
        known(optional('sizes', 'I')),
      ],
      attributes: settings,
      refuse: refuseResize,
      compute: (call) => {
        const { axes, keep_aspect_ratio_policy: policy } = call.attributes;
        const [roi, scales, sizes] = [1, 2, 3].map((index) => {
          const numbers = call.numbers(index);
          return numbers?.length ? numbers : undefined;
        });
        return resized(call, call.attributes, { axes, roi, scales, sizes, policy });
      },
    }),
  ],
} as const satisfies Readonly<Record<string, OperatorVersions>>;

interface Target {
  /** Axes to which the lists refer. Default: all axes. */
  readonly axes?: readonly number[] | undefined;
  /** Starts, then ends. */
  readonly roi?: readonly number[] | undefined;
  readonly scales?: readonly number[] | undefined;
  readonly sizes?: readonly number[] | undefined;
  readonly policy?: AspectPolicy;
}

function resized(call: OperatorCall<unknown>, how: Settings, target: Target): Tensor {
  const x = call.tensor(0);
  const axes = target.axes?.map((axis) => axisOf(axis, x.shape.length)) ?? [...x.shape.keys()];
  const samplings = axesOf(call, x.shape, axes, how, target);
  return axes.reduce((image, axis, k) => resizedAlong(call, image, axis, how, samplings[k]), x);
}

function axesOf(
  call: OperatorCall<unknown>,
  shape: readonly number[],
  axes: readonly number[],
  how: Settings,
  { roi, scales, sizes, policy = 'stretch' }: Target,
): Axis[] {
  const given = sizes ?? scales;
  if (given?.length !== axes.length || (sizes && scales)) {
    throw call.error(
      `expected ${axes.length} scales or sizes, got ${scales?.length ?? 0} and ${sizes?.length ?? 0}`,
    );
  }
  const isCrop = how.coordinate_transformation_mode === 'tf_crop_and_resize';
  if (isCrop && (roi?.length !== 2 * axes.length || scales)) {
    throw call.error('expected a roi and sizes with tf_crop_and_resize');
  }
  const factors = sizes?.map((size, k) => size / shape[axes[k]]) ?? [];
  const common = policy === 'not_larger' ? Math.min(...factors) : Math.max(...factors);
  return axes.map((axis, k) => {
    const length = shape[axis];
    const crop = isCrop ? ([roi![k], roi![k + axes.length]] as const) : ([0, 1] as const);
    if (!sizes) return { length, size: Math.floor(length * given[k]), scale: given[k], crop };
    if (policy === 'stretch') return { length, size: sizes[k], scale: undefined, crop };
    return { length, size: Math.floor(common * length + 0.5), scale: common, crop };
  });
}

function resizedAlong(
  call: OperatorCall<unknown>,
  x: Tensor,
  axis: number,
  how: Settings,
  sampling: Axis,
): Tensor {
  const { length, size, scale = size / length, crop } = sampling;
  if (size === length && scale === 1 && crop[0] === 0 && crop[1] === 1) return x;
  const { coordinate_transformation_mode: coordinates, mode, nearest_mode } = how;
  if (coordinates === 'align_corners' && sampling.scale !== undefined && !Number.isInteger(scale * length)) {
    throw call.mismatch(
      `expected sizes, or scales that give whole sizes, with align_corners, got ${scale} times ${length}, which runtimes align differently`,
    );
  }
  const places = placesOf(sampling, coordinates);
  if (mode === 'nearest') {
    const positions = places.map((place) => nearest(place, length, nearest_mode));
    return extrapolated(new Tensor(copiesAlong(x.value, axis, positions)), axis, places, how, length);
  }
  const taps = filterTaps(places, length, {
    weight: mode === 'linear' ? linearWeight : (distance) => cubicWeight(distance, how.cubic_coeff_a),
    radius: mode === 'linear' ? 1 : 2,
    scale: how.antialias === 1 ? Math.min(scale, 1) : 1,
    excludesOutside: how.exclude_outside === 1,
  });
  return extrapolated(
    new Tensor(alongAxis(x.value, axis, weightsOf(taps, length))),
    axis,
    places,
    how,
    length,
  );
}

/** Replaces elements from outside of the original, with tf_crop_and_resize. */
function extrapolated(
  x: Tensor,
  axis: number,
  places: readonly number[],
  how: Settings,
  length: number,
): Tensor {
  if (how.coordinate_transformation_mode !== 'tf_crop_and_resize') return x;
  const isOutside = places.map((place) => Number(place < 0 || place > length - 1));
  if (!isOutside.includes(1)) return x;
  const shape = x.shape.map((size, other) => (other === axis ? size : 1));
  const value = asTensor(constantArray('float32', [], [how.extrapolation_value])).to(x.dtype);
  return where(asTensor(constantArray('bool', shape, isOutside)), value, x);
}
