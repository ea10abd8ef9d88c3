import { InvalidArgumentError } from './errors.ts';

/** Which argument of which function, and its bounds. */
export interface IntegerRequirement {
  /** The class or function that has the argument, such as `DataLoader`. */
  who: string;
  /** Name of the argument, such as `batchSize`. */
  what: string;
  /** The smallest valid value. */
  min: number;
  /** The largest valid value. Default: 2^53 - 1, the largest integer that a double represents exactly. */
  max?: number;
}

/**
 * Returns `value` if it is a valid seed: an integer that a double represents exactly, possibly negative, as
 * in torch.manual_seed.
 */
export function requireSeed(value: unknown, who: string): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw new InvalidArgumentError(
    `${who}: seed must be an integer from -(2^53 - 1) to 2^53 - 1, got ${String(value)}.`,
  );
}

/** Returns `value` if it is an integer from `min` to `max`; otherwise throws `InvalidArgumentError`. */
export function requireInteger(value: unknown, { who, what, min, max }: IntegerRequirement): number {
  const isInside = typeof value === 'number' && Number.isSafeInteger(value) && value >= min;
  if (isInside && value <= (max ?? value)) return value;
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new InvalidArgumentError(`${who}: ${what} must be an integer ${range}, got ${String(value)}.`);
}
