import { InvalidArgumentError } from 'commander';

/** Returns a parser of integers of at least `least`. */
export function integerFrom(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`Expected an integer of at least ${least}.`);
  };
}

/** Parses a number of at least 0. */
export function numberFrom0(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value < Infinity) return value;
  throw new InvalidArgumentError('Expected a number of at least 0.');
}
