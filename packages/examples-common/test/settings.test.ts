import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { outputFile } from '../src/path-options.ts';
import { saveFile } from '../src/saved-file.ts';
import { parseSettings } from '../src/settings.ts';
import { parseOptions, type SharedDefaults } from '../src/shared-options.ts';

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

test('--resume without a path needs --output, and reads its newest checkpoint', () => {
  expect(rejectionOf('--resume')).toBe(
    'error: --resume without the path of a checkpoint needs --output. Add --output FOLDER.\n',
  );
  expect(parseSettings(example, ['--output', 'runs/1', '--resume']).resume).toBe('auto');
  expect(parseSettings(example, ['--resume', 'runs/1/checkpoint-000001-step-4']).resume).toBe(
    'runs/1/checkpoint-000001-step-4',
  );
});

describe('defaults of the shared options', () => {
  const defaults: SharedDefaults<{ wide?: boolean }> = {
    unit: 'texts',
    batch: { global: 32 },
    epochs: { help: '3, wide: 5', of: ({ wide }) => (wide === true ? 5 : 3) },
    lr: 0.1,
    savedModel: 'a.onnx',
  };
  const parsed = (...args: string[]) =>
    parseOptions(new Command().option('--wide', 'a wide model'), defaults, args);

  test('a global batch is the default, and each of the two options replaces it', () => {
    const batches = [[], ['--batch-size', '8'], ['--global-batch-size', '64']].map((args) => {
      const { batchSize, globalBatchSize } = parsed(...args);
      return [batchSize, globalBatchSize];
    });
    expect(batches).toEqual([
      [undefined, 32],
      [8, undefined],
      [undefined, 64],
    ]);
  });

  test('a default may depend on the options of the example', () => {
    const epochs = [[], ['--wide'], ['--wide', '--epochs', '1']].map((args) => parsed(...args).epochs);
    expect(epochs).toEqual([3, 5, 1]);
    expect(parsed().lr).toBe(0.1);
  });
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
