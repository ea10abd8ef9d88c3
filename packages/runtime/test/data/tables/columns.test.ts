import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import {
  ArrowShards,
  DataLoader,
  DistributedSampler,
  ParquetShards,
  loadArrow,
  loadParquet,
} from '../../../dist/data/index.js';
import type { LoadTableOptions, TableShardsOptions } from '../../../dist/data/index.js';
import { openStorage } from '../../../dist/storage/index.js';
import { startS3, useS3 } from '../../support/s3.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { expectedRows, listOf, shareOf, tableFile } from './expected-rows.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../../support/plain-workers.ts');
  return await plainWorkers(original);
});

interface Row {
  id: number;
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);

const formats = [
  {
    format: 'Parquet',
    extension: 'parquet',
    load: (paths: string | string[], options?: LoadTableOptions) => loadParquet<Row>(paths, options),
    stream: (paths: string | string[], options?: TableShardsOptions) =>
      new ParquetShards<Row>(paths, options),
    files: [
      'uneven-0.parquet',
      'gzip.parquet',
      'brotli.parquet',
      'zstd.parquet',
      'lz4.parquet',
      'none.parquet',
    ],
  },
  {
    format: 'Arrow',
    extension: 'arrow',
    load: (paths: string | string[], options?: LoadTableOptions) => loadArrow<Row>(paths, options),
    stream: (paths: string | string[], options?: TableShardsOptions) => new ArrowShards<Row>(paths, options),
    files: ['uneven-0.arrow', 'file.arrow', 'zstd.arrow', 'lz4.feather'],
  },
] as const;

describe.each(formats)('$format', ({ extension, load, stream, files }) => {
  const uneven = tableFile(`uneven-{0,1}.${extension}`);

  test.each(files)('%s has the values that pyarrow wrote', async (file) => {
    const rows = await listOf(stream(tableFile(file)).iterate(shareOf(0, 1)));
    expect(rows).toEqual(expectedRows.slice(0, rows.length));
    expect(rows.length).toBe(/uneven|file/.test(file) ? 15 : 6);
  });

  test('rows are found by index, in any order and with a cache of no part', async () => {
    for (const cacheBytes of [undefined, 0]) {
      const dataset = await load(uneven, cacheBytes === undefined ? {} : { cacheBytes });
      expect(dataset.length).toBe(22);
      const order = [21, 0, 15, 5, 6, 14, 18, 1];
      expect(await dataset.batch(order)).toEqual(order.map((index) => expectedRows[index]));
      await expect(dataset.at(22)).rejects.toThrow(/Dataset: expected an index from 0 to 21, got 22/);
    }
  });

  test('batches have the dtypes of the columns, of a stream and by index, in worker threads and without', async () => {
    const columns = ['id', 'score', 'flag', 'text', 'vector'];
    const check = (batch: Record<string, unknown>) => {
      expect(batch).toEqual({
        id: { data: BigInt64Array.of(4n, 5n, 6n, 7n), shape: [4] },
        // 1 is an integer, and stays a float.
        score: { data: Float32Array.of(1, 1.25, 1.5, 1.75), shape: [4] },
        flag: { data: BigInt64Array.of(0n, 0n, 1n, 0n), shape: [4] },
        text: [4, 5, 6, 7].map((i) => `row ${i} ä`),
        vector: { data: Float32Array.of(2, -4, 2.5, -5, 3, -6, 3.5, -7), shape: [4, 2] },
      });
    };
    for (const numWorkers of [0, 1]) {
      const options = { batchSize: 4, numWorkers };
      check((await listOf(new DataLoader(await load(uneven, { columns }), options)))[1]);
      check((await listOf(new DataLoader(stream(uneven, { columns }), options)))[1]);
    }
  });

  test('dtypes replace those of the file', async () => {
    const dataset = await load(uneven, {
      columns: ['id', 'tokens'],
      dtypes: { id: 'float64', tokens: 'int32' },
    });
    expect(await dataset.at(6)).toEqual({ id: 6, tokens: Int32Array.of(6, 7) });
    const [{ id }] = await listOf(
      new DataLoader(await load(uneven, { columns: ['id'], dtypes: { id: 'float64' } })),
    );
    expect(id).toEqual({ data: Float64Array.of(0), shape: [1] });
  });

  test.each([1, 2, 3, 5, 7])('%i readers visit each row once, shuffled anew in each epoch', async (count) => {
    const dataset = stream(uneven, { columns: ['id'], shuffle: true, bufferSize: 4 });
    const orders = await Promise.all(
      [0, 1].map(async (epoch) => {
        const shares = upTo(count).map((index) => listOf(dataset.iterate(shareOf(index, count, epoch))));
        return (await Promise.all(shares)).flat().map(({ id }) => id);
      }),
    );
    for (const order of orders) expect(sorted(order)).toEqual(upTo(22));
    expect(orders[0]).not.toEqual(orders[1]);
  });

  test('with enough parts, each belongs to one reader, which reads no other', async () => {
    const shares = upTo(5).map((index) =>
      listOf(stream(uneven, { columns: ['id'] }).iterate(shareOf(index, 5))),
    );
    const ids = (await Promise.all(shares)).map((rows) => rows.map(({ id }) => id));
    expect(ids).toEqual([upTo(5), [5], upTo(9).map((i) => i + 6), [15, 16, 17], [18, 19, 20, 21]]);
  });

  test('a DistributedSampler divides the rows among ranks', async () => {
    const dataset = await load(uneven, { columns: ['id'] });
    const ranks = upTo(3).map(async (rank) => {
      const sampler = new DistributedSampler(dataset, { numReplicas: 3, rank, evenDivisible: false });
      const batches = await listOf(new DataLoader(dataset, { batchSize: 2, sampler }));
      return batches.flatMap(({ id }) => Array.from(id.data, Number));
    });
    expect(sorted((await Promise.all(ranks)).flat())).toEqual(upTo(22));
  });

  test.each([0, 2])(
    'a run resumed in mid-epoch gets the same batches, with %i workers',
    async (numWorkers) => {
      const loaderOf = () =>
        new DataLoader(stream(uneven, { columns: ['id'], shuffle: true, bufferSize: 5 }), {
          ...{ batchSize: 2, seed: 3, numWorkers, numReplicas: 2, rank: 1 },
        });
      const whole = await listOf(loaderOf());
      expect(whole.length).toBeGreaterThan(3);
      const first = loaderOf();
      const batches = first[Symbol.asyncIterator]();
      expect((await batches.next()).value).toEqual(whole[0]);
      const state = first.stateDict();
      await batches.return(undefined);
      const resumed = loaderOf();
      resumed.loadStateDict(state);
      expect(await listOf(resumed)).toEqual(whole.slice(1));
    },
  );

  test('folders, patterns and objects of a bucket are tables', async () => {
    const bucket = `tables-${extension}`;
    const { port } = await startS3(bucket);
    useS3(port);
    const folder = temporaryFolder();
    for (const index of [0, 1]) {
      const name = `uneven-${index}.${extension}`;
      copyFileSync(tableFile(name), join(folder, name));
      await openStorage(`s3://${bucket}/a`).write(`b/${name}`, readFileSync(tableFile(name)));
    }
    writeFileSync(join(folder, 'README.md'), '');
    writeFileSync(join(folder, `_metadata.${extension}`), '');
    mkdirSync(join(folder, 'below'));
    copyFileSync(tableFile(`uneven-0.${extension}`), join(folder, 'below', `x.${extension}`));
    for (const [path, rows] of [
      [folder, 22],
      [join(folder, `*-?.${extension}`), 22],
      [join(folder, '**', `*.${extension}`), 37],
      [`s3://${bucket}/a/b`, 22],
      [`s3://${bucket}/a/b/uneven-1.${extension}`, 7],
      [`s3://${bucket}/**/*-0.${extension}`, 15],
    ] as const) {
      const dataset = await load(path);
      expect(dataset.length, path).toBe(rows);
      const last = await dataset.at(6);
      expect(last).toEqual(expectedRows[path.includes('uneven-1') ? 21 : 6]);
      expect((await listOf(stream(path, { columns: ['id'] }).iterate(shareOf(0, 2)))).length).toBeGreaterThan(
        0,
      );
    }
    await expect(load(join(folder, 'none-*'))).rejects.toThrow(
      'expected files that match the pattern, got none',
    );
    const above = temporaryFolder();
    mkdirSync(join(above, 'train'));
    copyFileSync(tableFile(`uneven-0.${extension}`), join(above, 'train', `x.${extension}`));
    await expect(load(above)).rejects.toThrow(`got 1 in its folders, such as train/x.${extension}`);
    await expect(load(join(folder, 'missing'))).rejects.toMatchObject({ code: 'ERR_STORAGE_NOT_FOUND' });
    await expect(load([folder, join(folder, `uneven-0.${extension}`)])).rejects.toThrow(
      'expected each file once',
    );
  });

  test('damaged files are refused with their name', async () => {
    const whole = readFileSync(tableFile(`uneven-0.${extension}`));
    const path = join(temporaryFolder(), `bad.${extension}`);
    for (const [bytes, message] of [
      [whole.subarray(0, 3000), /bad\.\w+: .*corrupt, truncated or not supported/],
      [
        'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n',
        /it is a pointer of Git LFS/,
      ],
      ['', /bad\.\w+: expected an? (Parquet|Arrow) file/],
      [Buffer.alloc(3000, 'text'), /bad\.\w+: /],
    ] as const) {
      writeFileSync(path, bytes);
      const loading = load(path).then((dataset) => dataset.at(14));
      await expect(loading).rejects.toMatchObject({ code: 'ERR_INVALID_DATA', file: path });
      await expect(loading).rejects.toThrow(message);
    }
  });

  test('a damaged part is refused with its place, and other parts are read', async () => {
    const bytes = readFileSync(tableFile(`uneven-0.${extension}`));
    const path = join(temporaryFolder(), `bad.${extension}`);
    if (extension === 'arrow') return;
    // Headers of pages of the first row group.
    writeFileSync(path, Buffer.from(bytes).fill(0xff, 4, 40));
    const dataset = await load(path, { columns: ['id'] });
    await expect(dataset.at(0)).rejects.toThrow(/bad\.parquet: row group 0 is corrupt/);
    expect(await dataset.at(14)).toEqual({ id: 14 });
  });

  test.each([
    [{ columns: ['id', 'none'] }, 'which has id, small, score, half'],
    [{ columns: [] }, 'columns: expected names, each once, got []'],
    [
      { dtypes: { id: 'float8' } },
      'dtypes: expected one of float32, float64, int32, int64 for id, got "float8"',
    ],
    [{ dtypes: { other: 'int64' } }, 'got other. Correct the name'],
    [{ cacheBytes: -1 }, 'cacheBytes must be an integer of at least 0, got -1'],
  ])('%j is refused', async (options, message) => {
    await expect(load(tableFile(`uneven-0.${extension}`), options as never)).rejects.toThrow(message);
  });
});

test('integers that a number does not hold are refused with file, column and row', async () => {
  const path = tableFile('large-integers.parquet');
  const dataset = await loadParquet(path);
  expect(await dataset.at(0)).toEqual({ id: 1 });
  await expect(dataset.at(1)).rejects.toThrow(
    `${path}: column id, row 1: expected an integer from -(2^53 - 1) to 2^53 - 1, got ${2n ** 60n}`,
  );
});

test('files with different columns are refused', async () => {
  const loading = loadParquet([tableFile('large-integers.parquet'), tableFile('other-type.parquet')]);
  await expect(loading).rejects.toThrow(/expected the columns of .*, id \((int64|no number)\), got id/);
});

test('a frame of LZ4 with blocks that refer to each other is decompressed', async () => {
  const dataset = await loadArrow<{ text: string }>(tableFile('long.feather'));
  const { text } = await dataset.at(499);
  const expected = Array.from({ length: 400 }, (_, j) => String.fromCharCode(97 + ((499 * j) % 26)));
  expect(text).toBe(expected.join(''));
});
