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

/**
 * Scales a curve to the frame.
 *
 * @param points Step and value, at least one, by step.
 * @param min The lower end of the vertical axis. Default: the smallest value.
 */
export function curveShape(
  points: readonly (readonly [step: number, value: number])[],
  min?: number,
): CurveShape {
  const { width, height, left, right, top, bottom } = frame;
  const values = points.map(([, value]) => value);
  const low = min ?? Math.min(...values);
  const high = Math.max(...values);
  const firstStep = points[0][0];
  const lastStep = points[points.length - 1][0];
  // A flat curve, and one of a single step, have no extent to divide by.
  const x = (step: number) =>
    left + ((step - firstStep) / (lastStep - firstStep || 1)) * (width - left - right);
  const y = (value: number) =>
    height - bottom - ((value - low) / (high - low || 1)) * (height - top - bottom);
  const path = points
    .map(([step, value], i) => `${i === 0 ? 'M' : 'L'}${x(step).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('');
  return { path, low: { value: low, y: y(low) }, high: { value: high, y: y(high) }, firstStep, lastStep };
}
