import { ArgumentError } from '../errors.ts';
import { describeValue } from '../stored-tensor.ts';

/** Refuses what is not a number, such as an object of options, which these arguments are not part of. */
export function requireNumber(where: string, values: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'number') {
      throw new ArgumentError(`${where}: ${name} must be a number, given ${describeValue(value)}.`);
    }
  }
}

export function requirePositiveInteger(where: string, values: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (!Number.isInteger(value) || value < 1) {
      throw new ArgumentError(`${where}: ${name} must be a positive integer, given ${value}.`);
    }
  }
}

export function requirePositive(where: string, values: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (!(value > 0)) throw new ArgumentError(`${where}: ${name} must be above 0, given ${value}.`);
  }
}
