import { ArgumentError } from '../errors/errors.ts';
import type { Generator } from '../random/generator.ts';
import { erf } from './error-function.ts';

/** A normal distribution of numbers from a to b. */
export interface TruncatedNormal {
  mean: number;
  std: number;
  a: number;
  b: number;
}

/**
 * Fills an array, rejecting candidates as torch 2.15 does: normal numbers out of bounds if at least 30 % are within them,
 * else uniform numbers by their density. Every round draws as many candidates as there are elements.
 *
 * @throws ArgumentError if the bounds are too far apart for uniform numbers
 */
export function truncatedNormal(data: Float32Array, shape: TruncatedNormal, generator: Generator): void {
  const { mean, std, a, b } = shape;
  if (probabilityBelow((b - mean) / std) - probabilityBelow((a - mean) / std) > 0.3) {
    rejectNormals(data, shape, generator);
    return;
  }
  if (!(b - a <= largestFloat)) {
    throw new ArgumentError(
      `nn.init.truncNormal: b − a must be at most ${largestFloat} where less than 30 % of the normal numbers lie, got a = ${a} and b = ${b}. Use finite bounds.`,
    );
  }
  rejectUniforms(data, shape, generator);
}

const round = Math.fround;
const largestFloat = (2 - 2 ** -23) * 2 ** 127;

/** Φ */
const probabilityBelow = (x: number) => (1 + erf(x / Math.SQRT2)) / 2;

function rejectNormals(data: Float32Array, { mean, std, a, b }: TruncatedNormal, generator: Generator): void {
  const [low, high] = [round(a), round(b)];
  const isOutside = (x: number) => x < low || x > high;
  generator.fillNormal(data, mean, std);
  const candidates = new Float32Array(data.length);
  while (data.some(isOutside)) {
    generator.fillNormal(candidates, mean, std);
    for (const [i, x] of data.entries()) if (isOutside(x)) data[i] = candidates[i];
  }
}

function rejectUniforms(
  data: Float32Array,
  { mean, std, a, b }: TruncatedNormal,
  generator: Generator,
): void {
  const mode = Math.max(a, Math.min(mean, b));
  const peak = round(-0.5 * ((mode - mean) / std) ** 2);
  const [center, spread] = [round(mean), round(std)];
  const candidates = new Float32Array(data.length);
  const chances = new Float32Array(data.length);
  let pending = [...data.keys()];
  while (pending.length > 0) {
    generator.fillUniform(candidates, a, b);
    generator.fillUniform(chances, 0, 1);
    for (const i of pending) data[i] = candidates[i];
    pending = pending.filter((i) => {
      const distance = round(round(candidates[i] - center) / spread);
      const logDensity = round(round(round(distance * distance) * -0.5) - peak);
      return round(Math.log(chances[i])) > logDensity;
    });
  }
}
