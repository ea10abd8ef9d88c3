import type { NumericArray } from './numeric-array.ts';
import type { ShapedArray } from './shaped-array.ts';
import { isTensorSample } from './tensor-sample.ts';

/** An object with fields. */
export type Fields = Record<string, unknown>;

export const isNumber = (value: unknown): value is number => typeof value === 'number';
export const isBigint = (value: unknown): value is bigint => typeof value === 'bigint';
export const isString = (value: unknown): value is string => typeof value === 'string';
export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

export function isNumericArray(value: unknown): value is NumericArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

export function isShapedArray(value: unknown): value is ShapedArray {
  return isPlainObject(value) && isNumericArray(value.data) && Array.isArray(value.shape);
}

/** Objects with fields; not a Map, a Date or a promise, whose contents are elsewhere. */
export function isPlainObject(value: unknown): value is Fields {
  return Object.prototype.toString.call(value) === '[object Object]';
}

export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (isNumericArray(value)) return `a ${value[Symbol.toStringTag]} of ${value.length} elements`;
  if (isTensorSample(value)) return `a tensor of shape [${value.shape.join()}]`;
  if (isShapedArray(value))
    return `an array of shape [${value.shape.join()}] with ${value.data.length} elements`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === 'object' ? `an object (${value.constructor.name})` : `a ${typeof value}`;
}
