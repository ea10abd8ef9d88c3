import { ArgumentError } from '../errors/errors.ts';
import { describeValue } from '../checks/describe-value.ts';

/** What a field of a saved state must be. */
export interface FieldKind {
  /** Completes "expected step to be …". */
  readonly expected: string;
  fits: (value: unknown) => boolean;
}

export const aCount: FieldKind = {
  expected: 'an integer of at least 0',
  fits: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
};

export const aFiniteNumber: FieldKind = { expected: 'a finite number', fits: Number.isFinite };

/** Any number: a loss may be NaN. */
export const aNumber: FieldKind = { expected: 'a number', fits: (value) => typeof value === 'number' };

export function aListOf(kind: FieldKind, length?: number): FieldKind {
  const count = length === undefined ? 'a list' : `a list of ${length}`;
  return {
    expected: `${count}, each ${kind.expected}`,
    fits: (value) =>
      Array.isArray(value) && (length === undefined || value.length === length) && value.every(kind.fits),
  };
}

/** A value of `kind`, or `otherwise`. */
export function either(kind: FieldKind, otherwise: null | undefined): FieldKind {
  return {
    expected: `${kind.expected} or ${String(otherwise)}`,
    fits: (value) => value === otherwise || kind.fits(value),
  };
}

/**
 * Checks the fields of a saved state, which may come from a file.
 *
 * @throws ArgumentError that names the first field of another kind
 */
export function requireFields(
  who: string,
  state: unknown,
  fields: Readonly<Record<string, FieldKind>>,
): void {
  if (typeof state !== 'object' || state === null)
    throw new ArgumentError(`${who}: expected a state from stateDict(), got ${describeValue(state)}.`);
  for (const [name, { expected, fits }] of Object.entries(fields)) {
    const value = (state as Readonly<Record<string, unknown>>)[name];
    if (fits(value)) continue;
    throw new ArgumentError(`${who}: expected ${name} to be ${expected}, got ${describeValue(value)}.`);
  }
}
