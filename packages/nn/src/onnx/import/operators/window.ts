import { padsForLastWindow } from '../../../ops/pooling.ts';

/** ONNX's auto_pad. */
export type AutoPad = 'NOTSET' | 'VALID' | 'SAME_UPPER' | 'SAME_LOWER';

/** Attributes of convolutions and pools, as stored in a node. */
export interface WindowAttributes {
  readonly auto_pad: AutoPad;
  readonly strides: readonly number[] | undefined;
  readonly pads: readonly number[] | undefined;
  readonly dilations: readonly number[] | undefined;
  readonly ceil_mode?: number;
}

/** A window that moves over images; a number for each axis, pads before all axes and then after them. */
export interface Window {
  readonly kernelShape: readonly number[];
  readonly strides: readonly number[];
  readonly pads: readonly number[];
  readonly dilations: readonly number[];
  /** The pads of the node, if `pads` has more after the images for a last window. */
  readonly ownPads: readonly number[];
}

export function windowOf(
  attributes: WindowAttributes,
  spatial: readonly number[],
  kernelShape: readonly number[],
): Window {
  const ones = kernelShape.map(() => 1);
  const { strides = ones, dilations = ones } = attributes;
  const ownPads = padsOf(attributes, spatial, { kernelShape, strides, dilations });
  const reach = reachOf({ kernelShape, dilations });
  const pads = attributes.ceil_mode ? padsForLastWindow(spatial, { reach, strides, pads: ownPads }) : ownPads;
  return { kernelShape, strides, dilations, pads, ownPads };
}

/** The elements from the first to the last of a window, along each axis. */
export function reachOf({ kernelShape, dilations }: Pick<Window, 'kernelShape' | 'dilations'>): number[] {
  return kernelShape.map((size, axis) => dilations[axis] * (size - 1) + 1);
}

function padsOf(
  { auto_pad, pads }: WindowAttributes,
  spatial: readonly number[],
  { kernelShape, strides, dilations }: Pick<Window, 'kernelShape' | 'strides' | 'dilations'>,
): readonly number[] {
  const none = [...kernelShape, ...kernelShape].map(() => 0);
  if (auto_pad === 'NOTSET') return pads ?? none;
  if (auto_pad === 'VALID') return none;
  const reach = reachOf({ kernelShape, dilations });
  const totals = spatial.map((size, axis) =>
    Math.max(0, (Math.ceil(size / strides[axis]) - 1) * strides[axis] + reach[axis] - size),
  );
  return shared(totals, auto_pad === 'SAME_UPPER');
}

/** Pads on both sides of each axis; if their total is odd, one more after the images or before them. */
export function shared(totals: readonly number[], isMoreBehind: boolean): number[] {
  const less = totals.map((total) => Math.floor(total / 2));
  const more = totals.map((total, axis) => total - less[axis]);
  return isMoreBehind ? [...less, ...more] : [...more, ...less];
}
