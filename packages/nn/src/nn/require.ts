import { ArgumentError } from '../errors.ts';

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
