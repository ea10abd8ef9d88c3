import type { TensorData } from '../../src/index.ts';
import { elementsOf, exactOf, roundingOf, type EncodedTensor } from './sample.ts';

/**
 * torch.testing's tolerances of float32; and ten times what single precision makes different in torch itself, because other orders
 * of the same sums are as right.
 */
const tolerance = { absolute: 1e-5, relative: 1.3e-6, rounding: 10 };

/**
 * How a tensor differs from torch's; undefined if it does not.
 *
 * @param settings `ofLargest`: a difference in proportion to the largest element that is allowed everywhere. Default: 0.
 */
export function difference(
  what: string,
  found: { readonly dtype: string; readonly shape: readonly number[]; readonly data: TensorData },
  expected: EncodedTensor,
  { isElementwise = false, ofLargest = 0 } = {},
): string | undefined {
  if (found.dtype !== expected.tensor) return `${what}: ${found.dtype}, torch ${expected.tensor}`;
  if (found.shape.join() !== expected.shape.join()) {
    return `${what}: [${found.shape.join()}], torch [${expected.shape.join()}]`;
  }
  if (expected.tensor === 'bfloat16') return narrowDifference(what, found.data, expected, isElementwise);
  const exact = elementsOf(expected);
  const rounding = roundingOf(expected);
  const least = ofLargest === 0 ? 0 : (ofLargest * largestOf(exact as Float32Array)) / tolerance.rounding;
  const most =
    rounding === undefined || isElementwise ? least : rounding.reduce((a, b) => Math.max(a, b), least);
  for (const [at, one] of exact.entries()) {
    const own = found.data[at];
    if (
      typeof one === 'number' ? isClose(Number(own), one, Math.max(most, rounding?.[at] ?? 0)) : own === one
    )
      continue;
    return `${what}[${at}]: ${String(own)}, torch ${String(one)}`;
  }
  return undefined;
}

/**
 * Results of bfloat16 may be as far from the exact ones as one rounding, or as torch's. Those of several products, such as gradients,
 * may be two units in the last place of the largest element away, or twice as far as torch's.
 */
function narrowDifference(
  what: string,
  data: TensorData,
  expected: EncodedTensor,
  isElementwise: boolean,
): string | undefined {
  const [torch, exact] = [elementsOf(expected) as Float32Array, exactOf(expected)];
  const errors = torch.map((one, at) => (Number.isFinite(one) ? Math.abs(one - exact[at]) : 0));
  const [worst, largest] = [largestOf(errors), largestOf(exact)];
  for (const [at, one] of exact.entries()) {
    const own = Number(data[at]);
    if ([torch[at], one].some((expected) => Object.is(own, expected) || own === expected)) continue;
    // Half a unit in the last place, and the error of single precision.
    const half = 2 ** Math.max(-134, Math.floor(Math.log2(Math.abs(one))) - 8) + 2 ** -20 * largest;
    const allowed = isElementwise ? Math.max(half, errors[at]) : Math.max(2 ** -6 * largest, 2 * worst);
    if (Math.abs(own - one) <= allowed) continue;
    return `${what}[${at}]: ${own}, torch ${torch[at]}`;
  }
  return undefined;
}

function largestOf(numbers: Float32Array): number {
  return numbers.reduce((most, one) => (Number.isFinite(one) ? Math.max(most, Math.abs(one)) : most), 0);
}

function isClose(own: number, one: number, rounding: number): boolean {
  if (Object.is(own, one) || own === one) return true;
  const { absolute, relative, rounding: times } = tolerance;
  // Not for infinity and NaN, whose distance is none.
  return (
    Number.isFinite(one) && Math.abs(own - one) <= absolute + relative * Math.abs(one) + times * rounding
  );
}
