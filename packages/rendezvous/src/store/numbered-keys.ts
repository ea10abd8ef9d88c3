/**
 * Keys that differ only in the number at their end, from 0: `member/0`, `member/1`, … Each rank of a job waits for one
 * key of every rank, so the names would be most of the bytes that a store reads; a request states prefix and count
 * instead.
 */
export interface NumberedKeys {
  readonly prefix: string;
  readonly count: number;
}

/** The short form of a list of keys. Undefined if the list has no short form. */
export function numberedKeys(keys: readonly string[]): NumberedKeys | undefined {
  if (keys.length < 2 || !keys[0].endsWith('0')) return undefined;
  const prefix = keys[0].slice(0, -1);
  return keys.every((key, i) => key === `${prefix}${i}`) ? { prefix, count: keys.length } : undefined;
}

/** The first `max` keys. */
export function listedKeys({ prefix, count }: NumberedKeys, max = count): string[] {
  return Array.from({ length: Math.min(count, max) }, (_, i) => `${prefix}${i}`);
}
