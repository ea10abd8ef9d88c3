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
