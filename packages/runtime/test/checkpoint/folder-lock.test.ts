import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { lockFolder } from '../../src/checkpoint/folder-lock.ts';
import { writeCheckpoint } from '../../src/checkpoint/write-checkpoint.ts';
import { openStorage } from '../../src/storage/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

function makeFiles(folder: string, names: readonly string[]): void {
  for (const name of names) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'x');
  }
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)).sort();
}

test('the first lock of a folder deletes only the remains of killed writers', async () => {
  const folder = temporaryFolder();
  const part = 'model.safetensors.4711-0123abcd.part';
  const complete = ['checkpoint-000001-step-1/manifest.json', 'checkpoint-000001-step-1/state.json'];
  const foreign = [`checkpoint-mine/${part}`, 'checkpoint-000001-step-1/notes.part', `other/${part}`, part];
  makeFiles(folder, [
    ...complete,
    ...foreign,
    `checkpoint-000001-step-1/${part}`,
    `checkpoint-000002-step-2/${part}`,
    'checkpoint-000003-step-3/model.safetensors',
  ]);
  const release = await lockFolder(folder);
  const kept = [...complete, ...foreign, 'writer.lock'].sort();
  expect(filesIn(folder)).toEqual(kept);
  expect(readdirSync(folder)).not.toContain('checkpoint-000002-step-2');

  // A second checkpointer of the process shares the lock while the first one writes.
  const inProgress = `checkpoint-000004-step-4/${part}`;
  makeFiles(folder, [inProgress]);
  const releaseSecond = await lockFolder(folder);
  expect(filesIn(folder)).toEqual([...kept, inProgress].sort());
  await Promise.all([release(), releaseSecond()]);
});

test('a write that fails leaves no incomplete checkpoint', async () => {
  const folder = temporaryFolder();
  const files = new Map([
    ['model.safetensors', new Uint8Array(10)],
    // A file cannot be below another file.
    ['model.safetensors/x', new Uint8Array(10)],
  ]);
  const saveInfo = { step: 1, epoch: 0, worldSize: 1, time: '2020-01-02T03:04:05.678Z' };
  const writing = writeCheckpoint(openStorage(folder), { saveInfo, files, keep: 1 });
  await expect(writing).rejects.toMatchObject({ name: 'StorageError' });
  expect(readdirSync(folder)).toEqual([]);
});
