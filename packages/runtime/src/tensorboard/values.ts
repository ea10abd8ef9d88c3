import { InvalidArgumentError } from '@ringrun/core';

/** @throws InvalidArgumentError if the arguments are none of a scalar. `who`: the method, for the message. */
export function requireScalar(who: string, tag: unknown, value: unknown, step: unknown): void {
  if (typeof value !== 'number') throw wrongValue(who, `value of ${String(tag)}`, 'a number', value);
  requireTag(who, tag, step);
}

/** @throws InvalidArgumentError if the tag is empty or no string, or if the step is given and no integer. */
export function requireTag(who: string, tag: unknown, step: unknown): void {
  if (typeof tag !== 'string' || tag === '')
    throw wrongValue(who, 'tag', "a string such as 'train/loss'", tag);
  if (step !== undefined && !Number.isSafeInteger(step)) throw wrongValue(who, 'step', 'an integer', step);
}

export function wrongValue(
  who: string,
  what: string,
  expected: string,
  given: unknown,
): InvalidArgumentError {
  return new InvalidArgumentError(
    `${who}: ${what}: expected ${expected}, got ${String(given)}. Nothing was written.`,
  );
}
