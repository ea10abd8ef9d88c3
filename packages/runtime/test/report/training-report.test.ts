import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Trace } from '../../src/profiler/trace.ts';
import type { TrainingReportOptions } from '../../src/report/training-report-options.ts';
import { trainingReport } from '../../src/report/training-report.ts';
import { writerEvents } from '../../src/tensorboard/events.ts';

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-report-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  return folder;
}

/** The loaders' batches, as their sizes. */
const batches = [64, 64, 64, 64, 44];
const samples = 300;

/** Runs two epochs without training and returns the output. `items` counts how often a loss was read. */
async function watch(options: Partial<TrainingReportOptions> & { isTTY?: boolean; columns?: number } = {}) {
  const { isTTY = false, columns = 80, ...rest } = options;
  const output = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns });
  const report = await trainingReport({ samples, epochs: 2, unit: 'images', output, ...rest });
  let items = 0;
  for (let epoch = 1; epoch <= 2; epoch += 1) {
    for await (const size of report.epoch(epoch, batches)) {
      const loss = { item: () => Promise.resolve(1 / (items += 1)) };
      await report.step({ loss, samples: size, lr: 0.1 });
    }
  }
  const summary = await report.end();
  return { printed: String(output.read()), items, summary, report };
}

describe('without a terminal', () => {
  test('prints the lines of the MNIST example every logInterval steps, and a table', async () => {
    const { printed, items, summary } = await watch({ logInterval: 2 });
    const [table, ...rest] = printed.split('\n').slice(6);
    expect(printed.split('\n').slice(0, 6)).toEqual([
      'Train Epoch: 1 [0/300 (0%)]\tloss=1.0000',
      'Train Epoch: 1 [128/300 (40%)]\tloss=0.5000',
      'Train Epoch: 1 [256/300 (80%)]\tloss=0.3333',
      'Train Epoch: 2 [0/300 (0%)]\tloss=0.2500',
      'Train Epoch: 2 [128/300 (40%)]\tloss=0.2000',
      'Train Epoch: 2 [256/300 (80%)]\tloss=0.1667',
    ]);
    expect(table).toMatch(/^rank +time +images\/s +input +compute +waiting$/);
    expect(rest).toEqual([expect.stringMatching(/^ +0 .*%$/), '']);
    // The loss is read only in steps that are shown.
    expect(items).toBe(6);
    expect(summary).toMatchObject([{ rank: 0, steps: 10, samples: 600 }]);
  });

  test('an epoch resumed midway continues its counts, and the curves their steps', async () => {
    const output = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: false, columns: 80 });
    const report = await trainingReport({ samples, unit: 'images', logInterval: 2, output, stepsBefore: 8 });
    const rest = { length: batches.length, [Symbol.iterator]: () => batches.slice(3).values() };
    for await (const size of report.epoch(2, rest, { steps: 3, samples: 192 })) {
      await report.step({ loss: 1, samples: size });
    }
    expect(report.steps).toBe(10);
    expect(await report.end()).toMatchObject([{ steps: 2, samples: 108 }]);
    const [line, table] = String(output.read()).split('\n');
    expect(line).toBe('Train Epoch: 2 [256/300 (80%)]\tloss=1.0000');
    expect(table).toMatch(/^rank /);
  });

  test('loading is measured as input', async () => {
    async function* slow() {
      await new Promise((resolve) => setTimeout(resolve, 50));
      yield 1;
    }
    const output = new PassThrough();
    const report = await trainingReport({ samples: 1, output });
    const loader = { length: 1, [Symbol.asyncIterator]: slow };
    for await (const size of report.epoch(1, loader)) await report.step({ loss: 1, samples: size });
    const [{ input, seconds }] = (await report.end())!;
    expect(input).toBeGreaterThan(0.049);
    expect(seconds).toBeGreaterThanOrEqual(input);
  });
});

describe('on a terminal', () => {
  const lastLines = (printed: string) =>
    printed
      .split('\n')
      .filter((line) => line.includes('Epoch '))
      .map((line) => line.slice(line.lastIndexOf('Epoch ')));

  test('redraws one line, which ends at 100 %', async () => {
    const { printed } = await watch({ isTTY: true });
    expect(lastLines(printed)).toEqual([
      expect.stringMatching(/^Epoch 1\/2 \[=+\] 100% {2}loss \d\.\d{4} {2}\d+ images\/s {2}0 s left/),
      expect.stringMatching(/^Epoch 2\/2 \[=+\] 100% /),
    ]);
    expect(printed).not.toContain('Train Epoch');
  });

  test('fits the line into a narrow terminal', async () => {
    const { printed } = await watch({ isTTY: true, columns: 50 });
    for (const line of lastLines(printed)) {
      // eslint-disable-next-line no-control-regex
      expect(line.replace(/\x1b(\[[\d;?]*[A-Za-z]|[78])/g, '').length).toBeLessThanOrEqual(50);
    }
  });
});

test('writes TensorBoard curves to `dir` and a trace to `profile`', async () => {
  const folder = temporaryFolder();
  const profile = join(folder, 'trace.json');
  const { report } = await watch({ logInterval: 5, dir: join(folder, 'logs'), profile });
  expect(report.writer!.failure).toBeUndefined();
  const [file] = readdirSync(join(folder, 'logs'));
  const events = readFileSync(join(folder, 'logs', file), 'latin1');
  const count = (tag: string) => events.split(tag).length - 1;
  expect(
    ['train/loss', 'train/learning_rate', 'train/images_per_second', 'epoch/images_per_second'].map(count),
  ).toEqual([2, 2, 2, 2]);
  const { traceEvents } = JSON.parse(readFileSync(profile, 'utf8')) as Trace;
  const steps = traceEvents.flatMap((event) =>
    event.ph === 'X' && event.cat === 'step' ? [event.name] : [],
  );
  expect(steps).toEqual(['step 5', 'step 6', 'step 7', 'step 8', 'step 9']);
});

test('writes histograms of the gradients that exist', async () => {
  const folder = temporaryFolder();
  const report = await trainingReport({ samples, dir: folder, output: new PassThrough() });
  const namedParameters = () =>
    Object.entries({ weight: { grad: new Float32Array([1, 2]) }, bias: { grad: undefined } });
  report.addGradients({ namedParameters });
  await report.end();
  const events = readFileSync(report.writer!.path, 'latin1');
  expect(events).toContain('gradients/weight');
  expect(events).not.toContain('gradients/bias');
});

describe('rejects', () => {
  test('a trace that cannot be written, before training', async () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    await expect(trainingReport({ samples, profile: join(file, 'trace.json') })).rejects.toThrow(
      `profile: rank 0 cannot write the trace to ${file}/trace.json (`,
    );
  });

  test.each([{ samples: -1 }, { samples, logInterval: 0 }])('%o', async (options) => {
    await expect(trainingReport(options)).rejects.toThrow('must be an integer of at least');
  });

  test('a step outside an epoch, and an epoch inside another', async () => {
    const report = await trainingReport({ samples, output: new PassThrough() });
    await expect(report.step({ loss: 1, samples: 1 })).rejects.toMatchObject({ code: 'ERR_NO_EPOCH' });
    const outer = report.epoch(1, [1]);
    await outer.next();
    await expect(report.epoch(2, [1]).next()).rejects.toThrow('epoch 2 started inside epoch 1');
    await outer.return();
  });
});

test('adds scalars of the script to TensorBoard and to the dashboard, with or without `dir`', async () => {
  const added: unknown[] = [];
  const listen = (...point: unknown[]) => added.push(point);
  writerEvents.on('scalar', listen);
  onTestFinished(() => void writerEvents.off('scalar', listen));
  const options = { samples, stepsBefore: 8, output: new PassThrough() };
  const report = await trainingReport({ ...options, dir: temporaryFolder() });
  report.addScalar('test/accuracy', 0.5);
  await report.end();
  expect(readFileSync(report.writer!.path, 'latin1')).toContain('test/accuracy');
  const withoutWriter = await trainingReport(options);
  withoutWriter.addScalar('test/accuracy', NaN, 12);
  expect(() => {
    withoutWriter.addScalar('test/accuracy', '0.5' as never);
  }).toThrow(
    'TrainingReport.addScalar: value of test/accuracy: expected a number, got 0.5. Nothing was written.',
  );
  expect(() => {
    withoutWriter.addScalar('', 1);
  }).toThrow(
    "TrainingReport.addScalar: tag: expected a string such as 'train/loss', got . Nothing was written.",
  );
  await withoutWriter.end();
  expect(added).toEqual([
    ['test/accuracy', 0.5, 8],
    ['test/accuracy', NaN, 12],
  ]);
});
