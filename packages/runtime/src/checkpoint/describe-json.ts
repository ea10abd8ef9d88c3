import { quoted } from '@ringrun/core';

/** A value of JSON in an error: `"text"`, `3`, `an array of 2`, `an object`. Short and printable. */
export function describeJson(value: unknown): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'string') return quoted(value, 100);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'null';
}

/** True for an object that is neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
