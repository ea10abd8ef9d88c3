import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { EventFile } from '../../src/tensorboard/event-file.ts';
import { histogramOf } from '../../src/tensorboard/histogram.ts';
import { SummaryWriter } from '../../src/tensorboard/summary-writer.ts';

/** A Python with tensorboard, as for the tests in test/viewers. */
const python = process.env['RINGRUN_VIEWERS_PYTHON'] ?? 'python3';
const hasTensorBoard = spawnSync(python, ['-c', 'import tensorboard']).status === 0;

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-tensorboard-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  return folder;
}

/** The contents of a file's records; record.test.ts tests their checksums. */
function recordsOf(path: string): Buffer[] {
  const file = readFileSync(path);
  const records: Buffer[] = [];
  for (let at = 0; at < file.length;) {
    const length = Number(file.readBigUInt64LE(at));
    records.push(file.subarray(at + 12, at + 12 + length));
    at += 12 + length + 4;
  }
  return records;
}

test('a file has a unique name and starts with brain.Event:2', async () => {
  const logDir = join(temporaryFolder(), 'a', 'b');
  const writers = [new SummaryWriter({ logDir }), new SummaryWriter({ logDir, filenameSuffix: '.x' })];
  for (const writer of writers) await writer.close();
  const name = (number: string) =>
    new RegExp(`^events\\.out\\.tfevents\\.\\d{10}\\.${hostname()}\\.${process.pid}\\.${number}$`);
  const names = writers.map(({ path }) => basename(path));
  expect(names[0]).toMatch(name('\\d+'));
  expect(names[1]).toMatch(name('\\d+\\.x'));
  expect(names[1].replace(/\.x$/, '')).not.toBe(names[0]);
  for (const { path } of writers) {
    const [first, ...rest] = recordsOf(path);
    expect(rest).toEqual([]);
    // Field 1: wall time, a double. Field 3: the version.
    expect(first[0]).toBe(0x09);
    expect(Math.abs(first.readDoubleLE(1) - Date.now() / 1000)).toBeLessThan(60);
    expect(first.subarray(9).toString('latin1')).toBe('\x1a\x0dbrain.Event:2');
  }
});

test('after the clock was set back, a new file still follows the earlier ones by name', async () => {
  const logDir = temporaryFolder();
  const earlier = Array.from({ length: 2 }, (_, i) => `events.out.tfevents.${4_000_000_000 - i}.host.1.0`);
  for (const name of earlier) writeFileSync(join(logDir, name), '');
  const writers = [0, 1].map(() => new SummaryWriter({ logDir }));
  for (const writer of writers) await writer.close();
  const added = writers.map(({ path }) => basename(path));
  expect(readdirSync(logDir).toSorted()).toEqual([...earlier.toSorted(), ...added]);
});

test('with purgeStep, a file starts with a session from that step on', async () => {
  const writer = new SummaryWriter({ logDir: temporaryFolder(), purgeStep: 300 });
  await writer.close();
  const [version, session, ...rest] = recordsOf(writer.path).map((one) => one.subarray(9).toString('hex'));
  // 10 ac02: step 300. 1a: the version. 3a 02 08 01: session_log with status START.
  expect(version).toBe(`10ac02${Buffer.from('\x1a\x0dbrain.Event:2').toString('hex')}`);
  expect([session, rest]).toEqual(['10ac023a020801', []]);
  expect(() => new SummaryWriter({ logDir: temporaryFolder(), purgeStep: -1 })).toThrow(
    'SummaryWriter: purgeStep must be an integer of at least 0, got -1',
  );
});

test.runIf(hasTensorBoard)(
  `after a resume TensorBoard reads each step once${hasTensorBoard ? '' : ': skipped, needs tensorboard'}`,
  async () => {
    const logDir = temporaryFolder();
    const first = new SummaryWriter({ logDir });
    for (let step = 1; step <= 9; step += 1) first.addScalar('loss', step, step);
    await first.close();
    const second = new SummaryWriter({ logDir, purgeStep: 6 });
    for (let step = 6; step <= 12; step += 1) second.addScalar('loss', 10 * step, step);
    await second.close();
    const script = fileURLToPath(new URL('./read_events.py', import.meta.url));
    const read = JSON.parse(execFileSync(python, [script, logDir], { encoding: 'utf8' })) as {
      scalars: { loss: [number, number][] };
    };
    const steps = Array.from({ length: 12 }, (_, i) => i + 1);
    expect(read.scalars.loss).toEqual(steps.map((step) => [step, step < 6 ? step : 10 * step]));
  },
);

test('encodes a scalar byte for byte: tag, step and value', async () => {
  const writer = new SummaryWriter({ logDir: temporaryFolder() });
  writer.addScalar('loss', 0.5, 300);
  await writer.flush();
  const written = recordsOf(writer.path)[1].subarray(9).toString('hex');
  // 10 ac02: step 300. 2a: summary, 0a: its value, 0a 04 6c6f7373: tag, 15 0000003f: simple_value as a float.
  expect(written).toBe('10ac022a0d0a0b0a046c6f7373150000003f');
  await writer.close();
});

describe('histograms equal those of torch.utils.tensorboard', () => {
  test('for positive values, trimmed to nonempty buckets', () => {
    // numpy.histogram with torch's default_bins, as its make_histogram trims it.
    expect(histogramOf([1, 1.05, 1.2, 1.3])).toEqual({
      ...{ min: 1, max: 1.3, num: 4, sum: 4.55 },
      sumSquares: expect.closeTo(5.2325, 12) as number,
      bucketLimit: [
        0.917246389039776, 1.0089710279437536, 1.109868130738129, 1.220854943811942, 1.3429404381931362,
      ],
      bucket: [0, 1, 1, 1, 1],
    });
  });

  test('for values below, at and above 0', () => {
    const { bucket, bucketLimit } = histogramOf(new Float32Array([-0.5, 0, 0, 1e-13, 0.5]))!;
    expect(bucket.filter((count) => count > 0)).toEqual([1, 3, 1]);
    // 0 is an edge: 0 and 1e-13 are in the bucket from 0 to 1e-12.
    expect(bucketLimit[bucket.indexOf(3)]).toBe(1e-12);
    expect(bucketLimit[bucket.indexOf(1)]).toBeGreaterThan(-0.5);
    expect(bucketLimit[bucket.indexOf(1) - 1]).toBeLessThanOrEqual(-0.5);
  });

  test('without values that are not finite', () => {
    expect(histogramOf([NaN, 1, Infinity])).toEqual(histogramOf([1]));
    expect(histogramOf([NaN])).toBeUndefined();
  });
});

test.skipIf(!hasTensorBoard)(
  `TensorBoard reads what was written${hasTensorBoard ? '' : ': skipped, ' + python + ' has no tensorboard'}`,
  async () => {
    const logDir = temporaryFolder();
    const writer = new SummaryWriter({ logDir });
    for (let step = 0; step < 3; step += 1) writer.addScalar('train/loss', 1 / (step + 1), 10 * step);
    writer.addScalar('train/lr', NaN, 2 ** 40);
    writer.addHistogram('gradients', new Float32Array([-1, 0.25, 0.25]), 7);
    writer.addText('arguments', '--lr 0.1 … größer', 1);
    await writer.close();
    const script = fileURLToPath(new URL('read_events.py', import.meta.url));
    const read = JSON.parse(
      execFileSync(python, [script, logDir], { encoding: 'utf8' }).replace('NaN', '"NaN"'),
    ) as object;
    const { bucket, bucketLimit, sumSquares, ...rest } = histogramOf(new Float32Array([-1, 0.25, 0.25]))!;
    expect(read).toEqual({
      scalars: {
        'train/loss': [
          [0, 1],
          [10, 0.5],
          [20, expect.closeTo(1 / 3, 6)],
        ],
        'train/lr': [[2 ** 40, 'NaN']],
      },
      histograms: {
        gradients: [[7, { ...rest, sum_squares: sumSquares, bucket, bucket_limit: bucketLimit }]],
      },
      texts: { 'arguments/text_summary': [[1, '--lr 0.1 … größer']] },
    });
  },
);

describe('rejects, and writes nothing for,', () => {
  test.each<[string, (writer: SummaryWriter) => void, string]>([
    [
      'an empty tag',
      (writer) => {
        writer.addScalar('', 1);
      },
      "tag: expected a string such as 'train/loss', got .",
    ],
    [
      'a fractional step',
      (writer) => {
        writer.addScalar('a', 1, 0.5);
      },
      'step: expected an integer, got 0.5',
    ],
    [
      'a value that is not a number',
      (writer) => {
        writer.addScalar('a', '1' as unknown as number);
      },
      'value of a: expected a number, got 1',
    ],
    [
      'one number for a histogram',
      (writer) => {
        writer.addHistogram('a', 1 as unknown as number[]);
      },
      'values of a: expected an array of numbers, got 1',
    ],
  ])('%s', async (_, add, problem) => {
    const writer = new SummaryWriter({ logDir: temporaryFolder() });
    expect(() => {
      add(writer);
    }).toThrow(problem);
    await writer.close();
    expect(recordsOf(writer.path)).toHaveLength(1);
  });

  test('values after close', async () => {
    const writer = new SummaryWriter({ logDir: temporaryFolder() });
    await writer.close();
    await writer.close();
    expect(() => {
      writer.addScalar('a', 1);
    }).toThrow(`addScalar: the writer of ${writer.path} is closed.`);
  });

  test('a folder that cannot be created, before training', () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    expect(() => new SummaryWriter({ logDir: file })).toThrow('EEXIST');
  });
});

test('logs a full disk once and does not block further writes', async () => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => {
    said.mockRestore();
  });
  const file = new EventFile('/dev/full');
  file.append(Buffer.from('one'));
  await file.flush();
  file.append(Buffer.from('two'));
  await file.flush();
  await file.close();
  expect(file.failure).toMatchObject({ code: 'ENOSPC' });
  expect(said.mock.calls.map(([line]) => line)).toEqual([
    expect.stringMatching(/^ringrun: writing \/dev\/full failed \(ENOSPC.*Training continues.*\n$/),
  ]);
});
