import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import { DataLoader, JsonLinesShards, loadJsonLines } from '../../../dist/data/index.js';
import type { JsonLinesOptions } from '../../../dist/data/index.js';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { listOf, shareOf } from './expected-rows.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../../support/plain-workers.ts');
  return await plainWorkers(original);
});

interface Line {
  id: number;
}

/** Path of a file with this content. */
function fileOf(content: string | Uint8Array, name = 'a.jsonl'): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, content);
  return path;
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
/** Lines of different lengths. */
const lineOf = (id: number) => JSON.stringify({ id, text: 'ä'.repeat((id * 7) % 40) });
const bom = '\uFEFF';

const contents = [
  ['lines', upTo(9).map(lineOf).join('\n') + '\n'],
  ['a last line without its end', upTo(9).map(lineOf).join('\n')],
  ['a mark of UTF-8', bom + upTo(9).map(lineOf).join('\n')],
  ['a mark of UTF-8 before a blank line', `${bom}\n${upTo(9).map(lineOf).join('\n')}`],
  ['ends of Windows', upTo(9).map(lineOf).join('\r\n') + '\r\n'],
  ['blank lines', `\n \n${upTo(9).map(lineOf).join('\n\n\t\r\n')}\n\n\n`],
] as const;

describe.each(contents)('a file with %s', (_, content) => {
  const rows = upTo(9).map((id) => JSON.parse(lineOf(id)) as Line);

  test('has its objects by index', async () => {
    const dataset = await loadJsonLines(fileOf(content));
    expect(dataset.length).toBe(9);
    expect(upTo(9).map((index) => dataset.at(index) as Line)).toEqual(rows);
  });

  test.each([1, 2, 3, 7, 10, 64, 1000])(
    'is read in blocks of %i bytes, each line once',
    async (blockBytes) => {
      const path = fileOf(content);
      for (const count of [1, 2, 3]) {
        const shards = new JsonLinesShards<Line>(path, { blockBytes });
        const shares = await Promise.all(
          upTo(count).map((index) => listOf(shards.iterate(shareOf(index, count)))),
        );
        expect(shares.flat().toSorted((a, b) => a.id - b.id)).toEqual(rows);
      }
    },
  );

  test('may be compressed by gzip', async () => {
    const path = fileOf(gzipSync(content), 'a.jsonl.gz');
    expect(await listOf(new JsonLinesShards<Line>(path).iterate(shareOf(0, 1)))).toEqual(rows);
    await expect(loadJsonLines(path)).rejects.toThrow('it is compressed by gzip. Decompress it with gunzip');
  });
});

test('a line longer than several blocks is read whole', async () => {
  const long = JSON.stringify({ id: 0, text: 'x'.repeat(300_000) });
  const path = fileOf(`${long}\n${lineOf(1)}\n`);
  const rows = await listOf(new JsonLinesShards<Line>(path, { blockBytes: 1000 }).iterate(shareOf(0, 1)));
  expect(rows.map(({ id }) => id)).toEqual([0, 1]);
});

describe.each([0, 1])('batches with %i workers', (numWorkers) => {
  const lines = [
    '{"x": 1, "y": 2, "tokens": [1, 2], "none": null}',
    '{"x": 2.5, "y": 3, "tokens": [3, 4], "none": 1}',
  ].join('\n');
  const options: JsonLinesOptions = {
    columns: ['x', 'y', 'tokens'],
    dtypes: { x: 'float32', tokens: 'int64' },
  };
  const expected = [1, 2.5].map((x, row) => ({
    x: { data: Float32Array.of(x), shape: [1] },
    y: { data: BigInt64Array.of(BigInt(row + 2)), shape: [1] },
    tokens: { data: BigInt64Array.of(BigInt(1 + 2 * row), BigInt(2 + 2 * row)), shape: [1, 2] },
  }));

  test('have the dtypes of the options', async () => {
    const path = fileOf(lines);
    for (const dataset of [await loadJsonLines(path, options), new JsonLinesShards(path, options)])
      expect(await listOf(new DataLoader(dataset, { numWorkers }))).toEqual(expected);
  });
});

test('several files are one dataset, and several ranks and workers share a stream that resumes', async () => {
  const folder = temporaryFolder();
  for (const part of [0, 1, 2])
    writeFileSync(
      join(folder, `${part}.jsonl`),
      upTo(10)
        .map((i) => lineOf(10 * part + i))
        .join('\n'),
    );
  const dataset = await loadJsonLines<Line>(folder);
  expect(upTo(30).map((index) => dataset.at(index).id)).toEqual(upTo(30));
  const loaderOf = (rank: number) =>
    new DataLoader(new JsonLinesShards<Line>(folder, { columns: ['id'], shuffle: true, blockBytes: 100 }), {
      ...{ numWorkers: 2, batchSize: 2, numReplicas: 2, rank, evenDivisible: false },
    });
  const ranks = await Promise.all([0, 1].map((rank) => listOf(loaderOf(rank))));
  const ids = ranks.flat().flatMap(({ id }) => Array.from(id.data, Number));
  expect(ids.toSorted((a, b) => a - b)).toEqual(upTo(30));
  const first = loaderOf(0);
  const batches = first[Symbol.asyncIterator]();
  for (const batch of ranks[0].slice(0, 3)) expect((await batches.next()).value).toEqual(batch);
  const resumed = loaderOf(0);
  resumed.loadStateDict(first.stateDict());
  await batches.return(undefined);
  expect(await listOf(resumed)).toEqual(ranks[0].slice(3));
});

describe('a bad line is refused with file and line', () => {
  const good = `${bom}${upTo(40).map(lineOf).join('\n')}\n\n`;
  const line = 42;
  test.each([
    ['{"id": 1', {}, 'expected an object in JSON, got '],
    ['[1, 2]', {}, 'expected an object, such as {"text": "…"}, got a list'],
    ['7', {}, 'expected an object, such as {"text": "…"}, got a number'],
    ['{"id": "x"}', { columns: ['id', 'text'] }, 'expected the field text, got id'],
    [
      '{"id": [1, "x"]}',
      { dtypes: { id: 'int64' } },
      'field id: expected a list of numbers, got a string at index 1',
    ],
    ['{"id": [0.5]}', { dtypes: { id: 'int64' } }, 'field id: expected an integer, got 0.5'],
    [Buffer.from([0x22, 0xff, 0x22]), {}, 'expected UTF-8, got other bytes'],
  ] as const)('%s', async (bad, options, message) => {
    const path = fileOf(Buffer.concat([Buffer.from(good), Buffer.from(bad), Buffer.from('\n')]));
    const dataset = await loadJsonLines(path, options as JsonLinesOptions);
    const expected = `${path}: line ${line}: ${message}`;
    expect(() => dataset.at(40) as unknown).toThrow(expected);
    const stream = new JsonLinesShards(path, { ...(options as JsonLinesOptions), blockBytes: 100 });
    await expect(listOf(stream.iterate(shareOf(0, 1)))).rejects.toThrow(expected);
    const zipped = fileOf(gzipSync(Buffer.concat([Buffer.from(good), Buffer.from(bad)])), 'a.jsonl.gz');
    const zippedStream = new JsonLinesShards(zipped, options);
    await expect(listOf(zippedStream.iterate(shareOf(0, 1)))).rejects.toThrow(`line ${line}: ${message}`);
  });
});

test.each([
  [
    's3://a/b.jsonl',
    {},
    'loadJsonLines: expected local files, which are mapped into memory, got s3://a/b.jsonl',
  ],
  ['a.jsonl', { columns: ['x', 'x'] }, 'columns: expected names, each once, got [x, x]'],
  ['a.jsonl', { dtypes: { x: 'string' } }, 'dtypes: expected one of float32'],
  [[], {}, 'loadJsonLines: expected at least one file, folder or pattern, got none'],
])('%j with %j is refused', async (paths, options, message) => {
  await expect(loadJsonLines(paths, options as JsonLinesOptions)).rejects.toThrow(message);
});
