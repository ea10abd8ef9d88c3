/** Size of the drawing, and its margins, in units of the SVG's view box. */
export const frame = { width: 480, height: 190, left: 4, right: 4, top: 18, bottom: 20 } as const;

export interface CurveShape {
  /** The attribute `d` of an SVG path. */
  readonly path: string;
  /** Both ends of the vertical axis. */
  readonly low: { readonly value: number; readonly y: number };
  readonly high: { readonly value: number; readonly y: number };
  readonly firstStep: number;
  readonly lastStep: number;
}

/** A point of a curve. */
export type CurvePoint = readonly [step: number, value: number];

/** The vertical axis. */
export interface CurveAxis {
  /** The lower end of a linear axis, which then has no label. Default: the smallest value. */
  readonly min?: number;
  /** Whether the axis is logarithmic, base 10. It leaves out values that are not above 0. Default: false. */
  readonly isLog?: boolean;
}

/**
 * Scales a curve to the frame.
 *
 * @param given The points, by step.
 * @returns Undefined for fewer than two points.
 */
export function curveShape(
  given: readonly CurvePoint[],
  { min, isLog = false }: CurveAxis = {},
): CurveShape | undefined {
  const points = isLog ? given.filter(([, value]) => value > 0) : given;
  if (points.length < 2) return undefined;
  const { width, height, left, right, top, bottom } = frame;
  const values = points.map(([, value]) => value);
  const low = (isLog ? undefined : min) ?? Math.min(...values);
  const high = Math.max(...values);
  const position = isLog ? Math.log10 : (value: number) => value;
  const [lowest, highest] = [position(low), position(high)];
  const firstStep = points[0][0];
  const lastStep = points[points.length - 1][0];
  // A flat curve, and one of a single step, have no extent to divide by.
  const x = (step: number) =>
    left + ((step - firstStep) / (lastStep - firstStep || 1)) * (width - left - right);
  const y = (value: number) =>
    height - bottom - ((position(value) - lowest) / (highest - lowest || 1)) * (height - top - bottom);
  const path = points
    .map(([step, value], i) => `${i === 0 ? 'M' : 'L'}${x(step).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('');
  return { path, low: { value: low, y: y(low) }, high: { value: high, y: y(high) }, firstStep, lastStep };
}
