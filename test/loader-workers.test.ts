import { expect, test } from 'vitest';
import { launch } from './support/command.ts';

test('worker threads load a dataset that is a TypeScript module, on each rank its share', async () => {
  const ended = await launch(['--nproc', '2', 'test/fixtures/typed-loading.ts']).ended;
  expect(ended).toMatchObject({ code: 0, stdout: '101 samples, sum 5050\n', timedOut: false, left: [] });
});
