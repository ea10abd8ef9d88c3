import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { outputFile } from '../src/path-options.ts';
import { saveFile } from '../src/saved-file.ts';
import { parseSettings } from '../src/settings.ts';

const example = {
  description: 'Trains',
  models: ['cnn'],
  data: 'folder',
  savedModel: 'model.onnx',
  epochs: 1,
  momentum: 0.5,
  lr: 0.01,
  augments: false,
} as const;

/** The output for a command line that is rejected. */
function rejectionOf(...args: string[]): string {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`exit code ${code}`);
  });
  try {
    expect(() => parseSettings(example, args)).toThrow('exit code 1');
    expect(exit).toHaveBeenCalledOnce();
    return written.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    vi.restoreAllMocks();
  }
}

test('--no-cuda is accepted, and contradicts --backend nccl', () => {
  expect(parseSettings(example, ['--no-cuda', '--backend', 'gloo'])).toEqual(parseSettings(example, []));
  expect(rejectionOf('--no-cuda', '--backend', 'nccl')).toBe(
    'error: --no-cuda and --backend nccl contradict each other. Remove one.\n',
  );
});

test('--save-model accepts a file, a key of a bucket, or no value', () => {
  const saved = (...args: string[]) => parseSettings(example, args).saveModel;
  expect([saved(), saved('--save-model'), saved('--save-model', 's3://models/a.onnx')]).toEqual([
    undefined,
    'model.onnx',
    's3://models/a.onnx',
  ]);
  for (const location of ['a.onnx', '/data/a.onnx', 's3://models/a', 's3://models/runs/1/a.onnx'])
    expect(outputFile(location)).toBe(location);
  for (const location of ['s3://', 's3://models', 's3://models/', 's3://models/runs/', 's3:///a.onnx'])
    expect(rejectionOf('--save-model', location)).toMatch(
      /argument 's3:.*' is invalid\. Expected a file or s3:\/\/bucket\/key/,
    );
});

test('saveFile creates folders, and writes to the current folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-test-'));
  await saveFile(join(folder, 'new/folder/a.onnx'), Buffer.from('model'));
  expect(readFileSync(join(folder, 'new/folder/a.onnx'), 'utf8')).toBe('model');
  const before = process.cwd();
  onTestFinished(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  process.chdir(folder);
  await saveFile('b.onnx', Buffer.from('another'));
  expect(readFileSync(join(folder, 'b.onnx'), 'utf8')).toBe('another');
});
