import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
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

test('a lock file that is a symbolic link is an error, and its target stays as it is', async () => {
  const [folder, other] = [temporaryFolder(), temporaryFolder()];
  writeFileSync(join(other, 'precious'), 'x'.repeat(10_000));
  symlinkSync(join(other, 'precious'), join(folder, 'writer.lock'));
  const error = { code: 'ERR_CHECKPOINT_NOT_WRITTEN' };
  await expect(lockFolder(folder)).rejects.toThrow('symbolic link');
  expect(readFileSync(join(other, 'precious'), 'utf8')).toBe('x'.repeat(10_000));
  unlinkSync(join(folder, 'writer.lock'));
  symlinkSync(join(other, 'new'), join(folder, 'writer.lock'));
  await expect(lockFolder(folder)).rejects.toMatchObject(error);
  expect(readdirSync(other)).toEqual(['precious']);
});

test('a lock file that is a pipe is an error at once', async () => {
  const folder = temporaryFolder();
  execFileSync('mkfifo', [join(folder, 'writer.lock')]);
  await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_NOT_WRITTEN' });
});

test('rotation deletes a linked checkpoint, but not the files of its target', async () => {
  const [folder, other] = [temporaryFolder(), temporaryFolder()];
  const storage = openStorage(folder);
  const files = new Map([['state.json', Buffer.from('{}')]]);
  const save = (step: number) => {
    const saveInfo = { step, epoch: 0, worldSize: 1, time: '2020-01-02T03:04:05.678Z' };
    return writeCheckpoint(storage, { saveInfo, files, keep: 1 });
  };
  const { name } = await save(1);
  renameSync(join(folder, name), join(other, 'moved'));
  symlinkSync(join(other, 'moved'), join(folder, name));
  const { notDeleted } = await save(2);
  expect(notDeleted).toBeUndefined();
  expect(readdirSync(folder)).toEqual(['checkpoint-000002-step-2']);
  expect(readdirSync(join(other, 'moved'))).toEqual(['manifest.json', 'state.json']);
});

test('the remains of killed writers are not deleted through a link', async () => {
  const [folder, other] = [temporaryFolder(), temporaryFolder()];
  const remains = ['model.safetensors.4711-0123abcd.part', 'state.json'];
  makeFiles(other, remains);
  symlinkSync(other, join(folder, 'checkpoint-000001-step-1'));
  await (
    await lockFolder(folder)
  )();
  expect(readdirSync(other).sort()).toEqual(remains);
});
