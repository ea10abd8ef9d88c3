import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DataShare } from '../../../src/data/dataset.ts';
import type { TableRow } from '../../../src/data/tables/index.ts';

/** Path of a table that golden/tables.py has written. */
export const tableFile = (name: string) => fileURLToPath(new URL(`./files/${name}`, import.meta.url));

/** A row as pyarrow's `to_pylist` has it. */
interface PlainRow extends Record<string, unknown> {
  id: number;
  tokens: number[];
  vector: number[];
  bytes: number[];
}

const plain = JSON.parse(
  readFileSync(new URL('./golden/tables.json', import.meta.url), 'utf8'),
) as PlainRow[];

/** The rows of the tables: `uneven-0` has the first 15, `uneven-1` the next 7, others the first 6. */
export const expectedRows = plain.map((row) => ({
  ...row,
  tokens: BigInt64Array.from(row.tokens, BigInt),
  vector: Float32Array.from(row.vector),
  bytes: Uint8Array.from(row.bytes),
})) as unknown as (TableRow & { id: number })[];

/** The share of one reader of `count`. */
export const shareOf = (index: number, count: number, epoch = 0, seed = 0): DataShare => ({
  ...{ index, count, epoch, seed },
  ...{ rank: index, worldSize: count, worker: 0, numWorkers: 0 },
});

/** All items. */
export async function listOf<Item>(items: AsyncIterable<Item> | Iterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}
