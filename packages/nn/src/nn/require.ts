import { ArgumentError } from '../errors.ts';
import { describeValue } from '../stored-tensor.ts';

/** Rejects values that are not numbers, such as an options object in place of a positional argument. */
export function requireNumber(where: string, values: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'number') {
      throw new ArgumentError(`${where}: ${name} must be a number, got ${describeValue(value)}.`);
    }
  }
}

export function requirePositiveInteger(where: string, values: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (!Number.isInteger(value) || value < 1) {
      throw new ArgumentError(`${where}: ${name} must be a positive integer, got ${value}.`);
    }
  }
}

export function requirePositive(where: string, values: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (!(value > 0)) throw new ArgumentError(`${where}: ${name} must be above 0, got ${value}.`);
  }
}
