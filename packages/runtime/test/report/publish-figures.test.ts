import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { FiguresPublisher } from '../../src/report/publish-figures.ts';
import { parseFigures } from '../../../launcher/src/worker/rank-figures.ts';
import { temporaryFolder } from '../../../launcher/test/support/launched.ts';

const env = { RANK: '1', WORLD_SIZE: '2', RINGRUN_RUN_ID: 'job', RINGRUN_RESTART_COUNT: '3' };
const progress = { unit: 'images', epoch: 1, stepOfEpoch: 2, stepsOfEpoch: 9, step: 2, loss: NaN };

test('the last of several records is complete and marks the end of the training', async () => {
  const path = join(temporaryFolder(), 'attempt_0/1/figures.json');
  const publisher = new FiguresPublisher(path, env);
  publisher.begin();
  expect([publisher.step(8), publisher.step(8)]).toEqual([true, true]);
  publisher.publish(progress);
  // Within the same second.
  expect(publisher.step(8)).toBe(false);
  publisher.pause();
  publisher.end();
  const record = () => (existsSync(path) ? parseFigures(readFileSync(path, 'utf8')) : undefined);
  await vi.waitFor(() => {
    expect(record()?.phase).toBe('ended');
  });
  expect(record()).toMatchObject({
    runId: 'job',
    restartCount: 3,
    rank: 1,
    worldSize: 2,
    pid: process.pid,
    progress,
    total: { steps: 3, samples: 24 },
  });
  publisher.endNow();
});

test('a folder that cannot be written is reported once, and the training continues', async () => {
  const written: string[] = [];
  const stderr = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0);
  const publisher = new FiguresPublisher('/proc/none/figures.json', env);
  publisher.begin();
  publisher.step(8);
  publisher.publish(progress);
  await vi.waitFor(() => {
    expect(written).toHaveLength(1);
  });
  publisher.publish(progress);
  publisher.endNow();
  await new Promise(setImmediate);
  stderr.mockRestore();
  expect(written).toEqual([
    expect.stringMatching(
      /^ringrun: rank 1 cannot write its figures for the dashboard: ENOENT.* Training continues/,
    ),
  ]);
});

test('scalars of every step do not hold back the progress of the training', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  const path = join(temporaryFolder(), 'figures.json');
  const publisher = new FiguresPublisher(path, env);
  const published: number[] = [];
  for (let step = 1; step <= 500; step += 1) {
    vi.advanceTimersByTime(10);
    if (publisher.step(8)) {
      published.push(step);
      publisher.publish({ ...progress, step });
    }
    publisher.addScalar('accuracy', step, step);
  }
  vi.useRealTimers();
  publisher.end();
  // One step in a second.
  expect(published).toEqual([1, 101, 201, 301, 401]);
  await vi.waitFor(() => {
    const record = existsSync(path) ? parseFigures(readFileSync(path, 'utf8')) : undefined;
    expect(record?.progress?.step).toBe(401);
  });
  publisher.endNow();
});

test('scalars are published within two seconds, and a name beyond 64 is reported once', async () => {
  const written: string[] = [];
  const stderr = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0);
  const path = join(temporaryFolder(), 'figures.json');
  const publisher = new FiguresPublisher(path, { ...env, RINGRUN_JOB_NAME: 'train.ts' });
  publisher.leaveOut(['train/loss']);
  publisher.addScalar('train/loss', 1, 1);
  // Without a step of the training.
  publisher.addScalar('accuracy', 0.5, undefined);
  for (let step = 1; step <= 12; step += 1) publisher.addScalar('accuracy', step, step);
  for (let i = 1; i < 70; i += 1) publisher.addScalar(`more ${i}`, NaN, 3);
  const record = () => (existsSync(path) ? parseFigures(readFileSync(path, 'utf8')) : undefined);
  await vi.waitFor(
    () => {
      expect(record()?.scalars).toHaveLength(64);
    },
    { timeout: 10_000 },
  );
  stderr.mockRestore();
  expect(record()).toMatchObject({ name: 'train.ts', phase: 'paused' });
  const [accuracy, more] = record()!.scalars!;
  expect(accuracy).toEqual({
    name: 'accuracy',
    count: 13,
    points: Array.from({ length: 10 }, (_, i) => [i + 3, i + 3]),
  });
  expect(more).toEqual({ name: 'more 1', count: 1, points: [[3, NaN]] });
  expect(written).toEqual([
    'ringrun: rank 1 shows its first 64 scalars on the dashboard, without more 64 and later ones. Files of TensorBoard have all of them.\n',
  ]);
  publisher.endNow();
});

test('a scalar without a step has the step of the training', async () => {
  const path = join(temporaryFolder(), 'figures.json');
  const publisher = new FiguresPublisher(path, env);
  for (let step = 0; step < 3; step += 1) publisher.step(8);
  publisher.addScalar('accuracy', 0.5, undefined);
  publisher.publish({ ...progress, step: 40 });
  publisher.addScalar('accuracy', 0.75, undefined);
  publisher.end();
  await vi.waitFor(() => {
    const scalars = existsSync(path) ? parseFigures(readFileSync(path, 'utf8'))?.scalars : undefined;
    expect(scalars?.[0].points).toEqual([
      [3, 0.5],
      [40, 0.75],
    ]);
  });
  publisher.endNow();
});
