import type { TensorData } from '../../src/index.ts';
import { elementsOf, roundingOf, type EncodedTensor } from './sample.ts';

/**
 * torch.testing's tolerances of float32; and ten times what single precision makes different in torch itself, because other orders
 * of the same sums are as right.
 */
const tolerance = { absolute: 1e-5, relative: 1.3e-6, rounding: 10 };

/** How a tensor differs from torch's; undefined if it does not. */
export function difference(
  what: string,
  found: { readonly dtype: string; readonly shape: readonly number[]; readonly data: TensorData },
  expected: EncodedTensor,
  { isElementwise = false } = {},
): string | undefined {
  if (found.dtype !== expected.tensor) return `${what}: ${found.dtype}, torch ${expected.tensor}`;
  if (found.shape.join() !== expected.shape.join()) {
    return `${what}: [${found.shape.join()}], torch [${expected.shape.join()}]`;
  }
  const exact = elementsOf(expected);
  const rounding = roundingOf(expected);
  const most = rounding === undefined || isElementwise ? 0 : rounding.reduce((a, b) => Math.max(a, b), 0);
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

function isClose(own: number, one: number, rounding: number): boolean {
  if (Object.is(own, one) || own === one) return true;
  const { absolute, relative, rounding: times } = tolerance;
  // Not for infinity and NaN, whose distance is none.
  return (
    Number.isFinite(one) && Math.abs(own - one) <= absolute + relative * Math.abs(one) + times * rounding
  );
}
