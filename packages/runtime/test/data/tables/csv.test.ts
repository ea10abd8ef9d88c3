import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import { CsvShards, DataLoader, loadCsv } from '../../../dist/data/index.js';
import type { CsvOptions } from '../../../dist/data/index.js';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { listOf, shareOf } from './expected-rows.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../../support/plain-workers.ts');
  return await plainWorkers(original);
});

function fileOf(content: string | Uint8Array, name = 'a.csv'): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, content);
  return path;
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

/** The rows of a file, in memory and as a stream, which must be equal. */
async function rowsOf(path: string, options: CsvOptions = {}): Promise<unknown[]> {
  const dataset = await loadCsv(path, options);
  const rows = upTo(dataset.length).map((index) => dataset.at(index) as unknown);
  expect(await listOf(new CsvShards(path, options).iterate(shareOf(0, 1)))).toEqual(rows);
  return rows;
}

const dtypes = { price: 'float32', label: 'int64' } as const;
const prices = [
  { price: 1, text: 'a', label: 0 },
  { price: 2.5, text: 'b, "c"\nd', label: -7 },
];

describe('a file', () => {
  test.each([
    ['of lines', 'price,text,label\n1,a,0\n2.5,"b, ""c""\nd",-7\n', {}],
    ['without its last line end', 'price,text,label\n1,a,0\n2.5,"b, ""c""\nd",-7', {}],
    ['with a mark of UTF-8 and blank lines', '\uFEFFprice,text,label\n\n1,a,0\n2.5,"b, ""c""\nd",-7\n\n', {}],
    ['of Windows', 'price,text,label\r\n1,a,0\r\n2.5,"b, ""c""\nd",-7\r\n', {}],
    ['with tabs', 'price\ttext\tlabel\n1\ta\t0\n2.5\t"b, ""c""\nd"\t-7\n', { delimiter: '\t' }],
    ['without names', '1,a,0\n2.5,"b, ""c""\nd",-7\n', { header: ['price', 'text', 'label'] }],
  ])('%s has its records', async (_, content, options) => {
    expect(await rowsOf(fileOf(content), { ...options, dtypes })).toEqual(prices);
    expect(await rowsOf(fileOf(gzipSync(content), 'a.csv.gz'), { ...options, dtypes })).toEqual(prices);
  });

  test('has chosen columns, as strings by default', async () => {
    const path = fileOf('a,b,c\n1,2,3\n');
    expect(await rowsOf(path, { columns: ['c', 'a'], dtypes: { a: 'int32' } })).toEqual([{ c: '3', a: 1 }]);
  });
});

test.each([0, 1])('batches have the dtypes of the columns, with %i workers', async (numWorkers) => {
  const path = fileOf('x,y,text\n1,2,a\n3,4,b\n');
  const options: CsvOptions = { dtypes: { x: 'float32', y: 'int64' } };
  for (const dataset of [await loadCsv(path, options), new CsvShards(path, options)]) {
    const [batch] = await listOf(new DataLoader(dataset, { batchSize: 2, numWorkers }));
    expect(batch).toEqual({
      x: { data: Float32Array.of(1, 3), shape: [2] },
      y: { data: BigInt64Array.of(2n, 4n), shape: [2] },
      text: ['a', 'b'],
    });
  }
});

test.each([1, 2, 3, 5])('%i readers visit each record once', async (count) => {
  const folder = temporaryFolder();
  for (const part of upTo(3))
    writeFileSync(
      join(folder, `${part}.csv`),
      ['id', ...upTo(part + 4).map((i) => 10 * part + i)].join('\n'),
    );
  const shards = new CsvShards<{ id: number }>(folder, {
    dtypes: { id: 'int64' },
    shuffle: true,
    bufferSize: 3,
  });
  const shares = await Promise.all(upTo(count).map((index) => listOf(shards.iterate(shareOf(index, count)))));
  expect(
    shares
      .flat()
      .map(({ id }) => id)
      .toSorted((a, b) => a - b),
  ).toEqual(upTo(3).flatMap((part) => upTo(part + 4).map((i) => 10 * part + i)));
});

describe('a bad record is refused with file, line and column', () => {
  test.each([
    ['a,b\n1,2\n1,x\n', 'line 3, column 2 (b): expected an integer (int64), got "x"'],
    ['a,b\n1,2\n1,\n', 'line 3, column 2 (b): expected an integer (int64), got ""'],
    ['a,b\n1,0.5\n', 'line 2, column 2 (b): expected an integer (int64), got "0.5"'],
    [
      'a,b\n1,9007199254740993\n',
      'line 2, column 2 (b): expected an integer (int64), got "9007199254740993"',
    ],
    ['a,b\n"x\ny",2\n1,2,3\n', 'line 4: expected 2 fields (a, b), got 3'],
    ['a,b\n1,2\n"x"y,2\n', 'line 3, column 1: expected CSV, got Invalid Closing Quote'],
    ['a,c\n1,2\n', 'line 1: expected a column b, got a, c'],
    ['a,b,b\n', 'line 1: expected each column once, got b twice'],
  ])('%j', async (content, message) => {
    const path = fileOf(content);
    const options: CsvOptions = { dtypes: { b: 'int64' } };
    await expect(loadCsv(path, options)).rejects.toThrow(`${path}: ${message}`);
    const reading = listOf(new CsvShards(path, options).iterate(shareOf(0, 1)));
    await expect(reading).rejects.toMatchObject({ code: 'ERR_INVALID_DATA', file: path });
    await expect(reading).rejects.toThrow(message);
  });
});

test.each([
  [
    { dtypes: { a: 'number' } },
    'dtypes: expected one of float32, float64, int32, int64, string for a, got "number"',
  ],
  [{ delimiter: '' }, 'delimiter: expected one character, got ""'],
  [{ columns: [] }, 'columns: expected names, each once, got []'],
  [{ separator: ';' }, 'separator'],
])('%j is refused', async (options, message) => {
  await expect(loadCsv('a.csv', options as CsvOptions)).rejects.toThrow(message);
});
