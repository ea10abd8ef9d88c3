import { ArgumentError } from '../errors.ts';

type Numbers = Readonly<Record<string, number>>;

/** Refuses numbers below 0 and NaN; what JavaScript callers pass instead of numbers too. */
export function requireAtLeastZero(where: string, numbers: Numbers): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (!(typeof value === 'number' && value >= 0)) {
      throw new ArgumentError(`${where}: ${name} must be at least 0, given ${value}.`);
    }
  }
}

/** Refuses numbers outside of [0, 1]. */
export function requireFraction(where: string, numbers: Numbers): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (!(typeof value === 'number' && value >= 0 && value <= 1)) {
      throw new ArgumentError(`${where}: ${name} must lie between 0 and 1, given ${value}.`);
    }
  }
}

/** Refuses numbers outside of [0, 1): a running average that keeps all of its past never learns. */
export function requireBelowOne(where: string, numbers: Numbers): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (!(typeof value === 'number' && value >= 0 && value < 1)) {
      throw new ArgumentError(`${where}: ${name} must be at least 0 and below 1, given ${value}.`);
    }
  }
}
