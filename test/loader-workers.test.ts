import { expect, test } from 'vitest';
import { launch } from './support/command.ts';

test("worker threads load each rank's share of a dataset written in TypeScript", async () => {
  const ended = await launch(['--nproc', '2', 'test/loader-workers.script.ts']).ended;
  expect(ended).toMatchObject({ code: 0, stdout: '101 samples, sum 5050\n', timedOut: false, left: [] });
});
