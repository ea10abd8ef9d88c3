import { describeValue } from './describe-value.ts';
import { bytesPerElement, type DType } from '../dtype.ts';
import { ArgumentError } from '../errors/errors.ts';

/** The names of dtypes, for messages. */
export const dtypes = "'float32', 'bfloat16', 'int64' or 'bool'";

export function isDType(value: unknown): value is DType {
  return typeof value === 'string' && Object.hasOwn(bytesPerElement, value);
}

/** @throws ArgumentError that names the function and the dtypes */
export function requireDType(who: string, dtype: unknown): DType {
  if (isDType(dtype)) return dtype;
  const got = typeof dtype === 'string' ? JSON.stringify(dtype) : describeValue(dtype);
  throw new ArgumentError(`${who}: expected ${dtypes}, got ${got}.`);
}
