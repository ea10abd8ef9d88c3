import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import { DataLoader, TextDataset } from '../../../../dist/data/index.js';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../../../support/plain-workers.ts');
  return await plainWorkers(original);
});

function fileOf(text: string): string {
  const path = join(temporaryFolder(), 'text.txt');
  writeFileSync(path, text);
  return path;
}

const linesOf = (dataset: TextDataset) => Array.from({ length: dataset.length }, (_, i) => dataset.at(i));

test.each([
  ['', []],
  ['one', ['one']],
  ['one\n', ['one']],
  ['\n', ['']],
  ['one\n\ntwo\r\nthree', ['one', '', 'two', 'three']],
  ['\r\n\n', ['', '']],
  ['Größe 🙂\n中文\n', ['Größe 🙂', '中文']],
])('%j has the lines %j', (text, lines) => {
  expect(linesOf(new TextDataset(fileOf(text)))).toEqual(lines);
});

test.each([0, 2])('lines reach a loop in order with %i workers', async (numWorkers) => {
  const lines = Array.from({ length: 11 }, (_, i) => 'x'.repeat(i));
  const loader = new DataLoader(new TextDataset(fileOf(lines.join('\n'))), { batchSize: 4, numWorkers });
  const seen: string[] = [];
  for await (const batch of loader) seen.push(...batch);
  expect(seen).toEqual(lines);
});

test('names the file and the range for an index outside', () => {
  const path = fileOf('a\nb\n');
  expect(() => new TextDataset(path).at(2)).toThrow(`${path}: expected an index from 0 to 1, got 2`);
  expect(() => new TextDataset('/no/such.txt')).toThrow('mapping /no/such.txt: not found');
});
