import { ArgumentError } from '../errors/errors.ts';
import { describeValue } from './describe-value.ts';

type Numbers = Readonly<Record<string, number>>;

/** Rejects values that are not numbers, such as an options object instead of a positional argument. */
export function requireNumber(where: string, values: Numbers): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'number') {
      throw new ArgumentError(`${where}: ${name} must be a number, got ${describeValue(value)}.`);
    }
  }
}

export function requirePositiveInteger(where: string, values: Numbers): void {
  for (const [name, value] of Object.entries(values)) {
    if (!Number.isInteger(value) || value < 1) {
      throw new ArgumentError(`${where}: ${name} must be a positive integer, got ${value}.`);
    }
  }
}

export function requirePositive(where: string, values: Numbers): void {
  for (const [name, value] of Object.entries(values)) {
    if (!(value > 0)) throw new ArgumentError(`${where}: ${name} must be above 0, got ${value}.`);
  }
}

/** Rejects numbers below 0, NaN and values that are not numbers. */
export function requireAtLeastZero(where: string, numbers: Numbers): void {
  for (const name in numbers) {
    const value = numbers[name];
    if (!(typeof value === 'number' && value >= 0)) {
      throw new ArgumentError(`${where}: ${name} must be at least 0, got ${value}.`);
    }
  }
}

/** Rejects numbers outside [0, 1]. */
export function requireFraction(where: string, numbers: Numbers): void {
  for (const name in numbers) {
    const value = numbers[name];
    if (!(typeof value === 'number' && value >= 0 && value <= 1)) {
      throw new ArgumentError(`${where}: ${name} must lie between 0 and 1, got ${value}.`);
    }
  }
}

/** Rejects numbers outside [0, 1): a running average with a decay of 1 never changes. */
export function requireBelowOne(where: string, numbers: Numbers): void {
  for (const name in numbers) {
    const value = numbers[name];
    if (!(typeof value === 'number' && value >= 0 && value < 1)) {
      throw new ArgumentError(`${where}: ${name} must be at least 0 and below 1, got ${value}.`);
    }
  }
}
