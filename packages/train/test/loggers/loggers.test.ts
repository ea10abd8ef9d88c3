import { appendFileSync, readFileSync, readdirSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { CSVLogger, ConsoleLogger, JsonLinesLogger, TensorBoardLogger } from '../../src/index.ts';

test('the console has a line for each call, with four digits', async () => {
  const output = new PassThrough({ encoding: 'utf8' });
  const logger = new ConsoleLogger({ output });
  logger.logHyperparameters({ lr: 0.1, model: { layers: [1, 2] } });
  logger.logMetrics({ 'val/accuracy': 0.98125, lr: 0.00001234, epoch: 2 }, 100);
  await logger.close();
  expect(output.read()).toBe(
    'hyperparameters: lr 0.1, model/layers [1, 2]\nstep 100: val/accuracy 0.9812, lr 0.00001234, epoch 2\n',
  );
});

test('JSON lines have every value, and a resumed training drops those after its step', async () => {
  const path = join(temporaryFolder(), 'logs', 'metrics.jsonl');
  const logger = new JsonLinesLogger({ path });
  logger.logHyperparameters({ lr: 0.1 });
  logger.logMetrics({ loss: 0.5 }, 1);
  logger.logMetrics({ loss: NaN }, 2);
  await logger.close();
  appendFileSync(path, '{"step":3,"lo');
  const resumed = new JsonLinesLogger({ path });
  resumed.resume(1);
  resumed.logMetrics({ loss: -Infinity }, 2);
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  const time = expect.stringMatching(/^\d{4}-.*Z$/) as unknown;
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { hyperparameters: { lr: '0.1' } },
    { step: 1, time, loss: 0.5 },
    { step: 2, time, loss: '-Infinity' },
  ]);
});

test('CSV has a column for each name, also for one that is new, and continues a file', () => {
  const path = join(temporaryFolder(), 'metrics.csv');
  const logger = new CSVLogger({ path });
  logger.logMetrics({ loss: 0.5 }, 1);
  logger.logMetrics({ 'a,"b"': 2 }, 2);
  logger.logMetrics({ loss: 0.25 }, 3);
  const resumed = new CSVLogger({ path });
  resumed.resume(2);
  resumed.logMetrics({ 'a,"b"': NaN, loss: 0.125 }, 3);
  resumed.logMetrics({ new: 1 }, 4);
  expect(readFileSync(path, 'utf8')).toBe('step,loss,"a,""b""",new\n1,0.5,,\n2,,2,\n3,0.125,NaN,\n4,,,1\n');
});

test('TensorBoard has curves and a table of settings', async () => {
  const dir = temporaryFolder();
  const logger = new TensorBoardLogger({ dir });
  logger.logHyperparameters({ lr: 0.125 });
  logger.logMetrics({ 'val/accuracy': 0.5 }, 3);
  await logger.close();
  const [file, ...others] = readdirSync(dir);
  expect(others).toEqual([]);
  const text = readFileSync(join(dir, file), 'latin1');
  expect(text).toContain('val/accuracy');
  expect(text).toContain('| lr | 0.125 |');
});

test('a file that cannot be written is an error at the first result, as its folder would be', () => {
  const logger = new CSVLogger({ path: '/proc/none/metrics.csv' });
  expect(() => {
    logger.logMetrics({ loss: 1 }, 1);
  }).toThrow(/\/proc\/none/);
});
