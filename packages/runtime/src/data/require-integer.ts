import { InvalidArgumentError } from '@ringrun/collectives/errors';

interface Requirement {
  /** Whose argument it is, such as `DataLoader`. */
  who: string;
  /** Which argument, such as `batchSize`. */
  what: string;
  min: number;
  /** Largest integer that a double holds exactly unless given. */
  max?: number;
}

/** A seed: an integer that a double holds exactly, negative ones too, as torch.manual_seed takes them. */
export function requireSeed(value: unknown, who: string): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw new InvalidArgumentError(
    `${who}: seed must be an integer from -(2^53 - 1) to 2^53 - 1, got ${String(value)}.`,
  );
}

/** `value`, when it is an integer from `min` to `max`; otherwise an `InvalidArgumentError`. */
export function requireInteger(value: unknown, { who, what, min, max }: Requirement): number {
  const isInside = typeof value === 'number' && Number.isSafeInteger(value) && value >= min;
  if (isInside && value <= (max ?? value)) return value;
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new InvalidArgumentError(`${who}: ${what} must be an integer ${range}, got ${String(value)}.`);
}
