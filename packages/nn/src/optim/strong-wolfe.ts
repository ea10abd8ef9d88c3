/** The objective at a distance along a direction: its value, its gradient, and the slope along the direction. */
export interface LinePoint {
  readonly t: number;
  readonly value: number;
  readonly gradient: Float64Array;
  readonly slope: number;
}

const [sufficientDecrease, curvature, maxEvaluations] = [1e-4, 0.9, 25];

/**
 * Searches along a direction for a point with the strong Wolfe conditions, by bracketing and cubic interpolation
 * (torch.optim.lbfgs._strong_wolfe; Nocedal and Wright, algorithms 3.5 and 3.6).
 *
 * @param at evaluates the objective at a distance
 * @param start the point at distance 0
 * @param t the first distance to try
 * @param longest the largest absolute element of the direction
 * @returns the point, and the number of evaluations
 */
export async function strongWolfe(
  at: (t: number) => Promise<LinePoint>,
  start: LinePoint,
  t: number,
  { longest, toleranceChange }: { longest: number; toleranceChange: number },
): Promise<{ point: LinePoint; evaluations: number }> {
  let point = await at(t);
  let evaluations = 1;
  let before = start;
  let bracket: [LinePoint, LinePoint] | undefined;
  let isDone = false;
  const isTooHigh = ({ t, value }: LinePoint) => value > start.value + sufficientDecrease * t * start.slope;
  const isFlat = ({ slope }: LinePoint) => Math.abs(slope) <= -curvature * start.slope;
  let iteration = 0;
  for (; iteration < maxEvaluations; iteration += 1) {
    if (isTooHigh(point) || (iteration > 1 && point.value >= before.value)) bracket = [before, point];
    else if (isFlat(point)) {
      bracket = [point, point];
      isDone = true;
    } else if (point.slope >= 0) bracket = [before, point];
    if (bracket) break;
    const [least, most] = [point.t + 0.01 * (point.t - before.t), point.t * 10];
    const next = cubicInterpolate(before, point, [least, most]);
    before = point;
    point = await at(next);
    evaluations += 1;
  }
  bracket ??= [start, point];

  let isInsufficient = false;
  while (!isDone && iteration < maxEvaluations) {
    const [low, high] = bracket[0].value <= bracket[1].value ? [0, 1] : [1, 0];
    if (Math.abs(bracket[1].t - bracket[0].t) * longest < toleranceChange) break;
    let next = cubicInterpolate(bracket[0], bracket[1]);
    const [first, last] = [Math.min(bracket[0].t, bracket[1].t), Math.max(bracket[0].t, bracket[1].t)];
    const margin = 0.1 * (last - first);
    // A point near a boundary makes little progress: the second time it is moved inside.
    if (Math.min(last - next, next - first) < margin) {
      if (isInsufficient || next >= last || next <= first) {
        next = Math.abs(next - last) < Math.abs(next - first) ? last - margin : first + margin;
        isInsufficient = false;
      } else isInsufficient = true;
    } else isInsufficient = false;
    point = await at(next);
    evaluations += 1;
    iteration += 1;
    if (isTooHigh(point) || point.value >= bracket[low].value) {
      bracket[high] = point;
      continue;
    }
    if (isFlat(point)) isDone = true;
    else if (point.slope * (bracket[high].t - bracket[low].t) >= 0) bracket[high] = bracket[low];
    bracket[low] = point;
  }
  return { point: bracket[0].value <= bracket[1].value ? bracket[0] : bracket[1], evaluations };
}

/** The minimum of the cubic through two points with their slopes, within bounds. Default bounds: the points. */
function cubicInterpolate(a: LinePoint, b: LinePoint, bounds?: readonly [number, number]): number {
  const [least, most] = bounds ?? (a.t <= b.t ? [a.t, b.t] : [b.t, a.t]);
  const d1 = a.slope + b.slope - (3 * (a.value - b.value)) / (a.t - b.t);
  const square = d1 ** 2 - a.slope * b.slope;
  if (!(square >= 0)) return (least + most) / 2;
  const d2 = Math.sqrt(square);
  const minimum =
    a.t <= b.t
      ? b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
      : a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return Math.min(Math.max(minimum, least), most);
}
