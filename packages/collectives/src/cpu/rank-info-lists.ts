import { deflateRawSync, inflateRawSync } from 'node:zlib';

import type { Store } from '@ringrun/core';

/** Ranks whose values each rank reads by itself. */
const fewRanks = 64;

/** Values in one message: of about 450 bytes each, and of 105 in a list. */
export const valuesPerMessage = 256;

/** Bytes of a list that a rank unpacks. */
const largestList = 2 ** 24;

/** Reads the values of the keys, which exist, in a few messages: else the store would have to keep N² of them at once. */
export async function readValues(
  store: Store,
  keys: readonly string[],
  timeoutMs: number,
): Promise<string[]> {
  const values: string[] = [];
  for (let first = 0; first < keys.length; first += valuesPerMessage) {
    const some = await store.multiGet(keys.slice(first, first + valuesPerMessage), { timeoutMs });
    values.push(...some.map((value) => Buffer.from(value).toString()));
  }
  return values;
}

/**
 * Returns the values of the keys, which exist. In a large group, rank 0 reads them, and publishes compressed lists for the others:
 * the values of all ranks for all ranks are most of the bytes that the store sends. Undefined instead of a list that is none.
 *
 * @param name Prefix of the keys of the lists.
 */
export async function readValuesOnce(
  store: Store,
  keys: readonly string[],
  name: string,
  rank: number,
  timeoutMs: number,
): Promise<(string | undefined)[]> {
  if (keys.length <= fewRanks) return await readValues(store, keys, timeoutMs);
  const lists = listsOf(keys.length, name);
  if (rank === 0) {
    const values = await readValues(store, keys, timeoutMs);
    for (const { key, first, end } of lists)
      await store.set(key, deflateRawSync(JSON.stringify(values.slice(first, end))));
    return values;
  }
  const values: (string | undefined)[] = [];
  for (const { key, first, end } of lists)
    values.push(...unpack(await store.get(key, { timeoutMs }), end - first));
  return values;
}

/** The keys do not end in a number: those that do belong to the rank with that number. */
function listsOf(size: number, name: string): { key: string; first: number; end: number }[] {
  return Array.from({ length: Math.ceil(size / valuesPerMessage) }, (_, i) => {
    const [first, end] = [i * valuesPerMessage, Math.min((i + 1) * valuesPerMessage, size)];
    return { key: `${name}/${first}-${end - 1}`, first, end };
  });
}

function unpack(bytes: Uint8Array, count: number): (string | undefined)[] {
  try {
    const list: unknown = JSON.parse(inflateRawSync(bytes, { maxOutputLength: largestList }).toString());
    if (Array.isArray(list) && list.length === count && list.every((one) => typeof one === 'string'))
      return list;
  } catch {
    // Not a list.
  }
  return new Array<undefined>(count).fill(undefined);
}
