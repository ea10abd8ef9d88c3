import { InvalidArgumentError } from '@ringrun/core';
import type { DType } from '@ringrun/core';

/** Element type of numbers in a batch. JavaScript has one type for integers and fractions, so it must be named. */
export type NumberDType = Extract<DType, 'float32' | 'float64' | 'int32' | 'int64'>;

/** The element types of numbers. */
export const numberDTypes = [
  'float32',
  'float64',
  'int32',
  'int64',
] as const satisfies readonly NumberDType[];

/** @throws InvalidArgumentError for a dtype that is not one of `allowed` */
export function requireDTypes(
  who: string,
  dtypes: Readonly<Record<string, string>>,
  allowed: readonly string[] = numberDTypes,
): void {
  for (const [name, dtype] of Object.entries(dtypes)) {
    if (allowed.includes(dtype)) continue;
    throw new InvalidArgumentError(
      `${who}: dtypes: expected one of ${allowed.join(', ')} for ${name}, got ${JSON.stringify(dtype)}.`,
    );
  }
}
