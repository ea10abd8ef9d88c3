import { InvalidArgumentError } from '@ringrun/core';

/** Returns `name` if it stays inside the storage. */
export function checkedName(name: string): string {
  const parts = name.split('/');
  if (parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0')))
    return name;
  throw new InvalidArgumentError(
    `Storage: expected a name of parts separated by one '/', without '.' and '..', such as 'step-100/rank-0.bin', got '${name}'.`,
  );
}

/** By UTF-8 bytes, the order in which buckets list names. */
export function byName(a: { name: string }, b: { name: string }): number {
  return compareUtf8(a.name, b.name);
}

/** Compares the UTF-8 bytes of two strings, which have the order of their code points: as Python sorts. */
export function compareUtf8(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  let same = 0;
  while (same < shorter && a.charCodeAt(same) === b.charCodeAt(same)) same += 1;
  return same === shorter ? a.length - b.length : placeOf(a.charCodeAt(same)) - placeOf(b.charCodeAt(same));
}

/** Surrogates are parts of code points after all others. */
function placeOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
