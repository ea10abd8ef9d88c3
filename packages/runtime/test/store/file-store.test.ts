import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError, StoreTimeoutError } from '@ringrun/collectives';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FileStore } from '../../src/store/file-store.ts';
import type { FileStoreOptions } from '../../src/store/file-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { start } from './processes.ts';

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
const newPath = () => join(temporaryFolder(), 'store');
const member = new URL('./fixtures/file-member.mjs', import.meta.url);

async function open(path: string, options: FileStoreOptions = {}): Promise<FileStore> {
  const store = await FileStore.open(path, { timeoutMs: 20_000, ...options });
  onTestFinished(() => store.close());
  return store;
}

/** A process that opens the file, sets `here` and whatever else, and stays until it is killed. */
async function livingMember(path: string, worldSize: number) {
  const child = start(member, { STORE: path, WORLD_SIZE: worldSize });
  await child.sees(/opened/);
  return child;
}

describe('the file', () => {
  test('is removed by the last of so many processes, and not before', async () => {
    const path = newPath();
    const [a, b] = [await open(path, { worldSize: 2 }), await open(path, { worldSize: 2 })];
    await a.set('k', 'v');
    await a.close();
    expect(existsSync(path)).toBe(true);
    expect(text(await b.get('k'))).toBe('v');
    await b.close();
    expect(existsSync(path)).toBe(false);
  });

  test('waits for those who come after others have left, as torch’s', async () => {
    const path = newPath();
    const first = await open(path, { worldSize: 2 });
    await first.set('k', 'left behind');
    await first.close();
    const second = await open(path, { worldSize: 2 });
    expect(text(await second.get('k'))).toBe('left behind');
    await second.close();
    expect(existsSync(path)).toBe(false);
  });

  test('without a number of processes stays, with what is in it', async () => {
    const path = newPath();
    const first = await open(path);
    await first.set('k', 'v');
    await first.close();
    expect(text(await (await open(path)).get('k'))).toBe('v');
  });

  test('is read and written by its user alone', async () => {
    const path = newPath();
    await open(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

describe('processes', () => {
  test('count together, and wait for each other', async () => {
    const path = newPath();
    const children = Array.from({ length: 3 }, () =>
      start(member, { STORE: path, WORLD_SIZE: 4, ADDS: 50 }, ['count']),
    );
    const store = await open(path, { worldSize: 4 });
    for (const child of children) expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(text(await store.get('n'))).toBe('150');
    const counts = children.flatMap((child) => child.output().stdout.trim().split(' ').map(Number));
    expect(counts.sort((x, y) => x - y)).toEqual(Array.from({ length: 150 }, (_, i) => i + 1));
    await store.close();
    expect(existsSync(path)).toBe(false);
  });

  test('that are killed while they write harm nobody', async () => {
    const path = newPath();
    const store = await open(path);
    for (let round = 0; round < 5; round += 1) {
      const child = start(member, { STORE: path, WORLD_SIZE: 0, ADDS: 1_000_000 }, ['count']);
      const before = await store.add('n', 0);
      while ((await store.add('n', 0)) < before + 20);
      child.kill('SIGKILL');
      await child.ended;
      const after = await store.add('n', 1);
      expect(await store.add('n', 1)).toBe(after + 1);
    }
    // Another reads the same from the beginning.
    expect(await (await open(path)).add('n', 0)).toBe(await store.add('n', 0));
  });

  test('that stop in the middle of a write are waited for, and named as what they are', async () => {
    const path = newPath();
    const lines: string[] = [];
    const store = await open(path, { timeoutMs: 2500, log: (line) => lines.push(line) });
    const child = start(member, { STORE: path, WORLD_SIZE: 0 }, ['keep the pen']);
    await child.sees(/has the pen/);
    await expect(store.set('k', 'v')).rejects.toThrow(
      /^set\("k"\) was not carried out within 3 s: another process keeps the file .* locked/,
    );
    expect(lines).toEqual([expect.stringMatching(/waiting for another process to finish writing/)]);
    child.kill('SIGKILL');
    await child.ended;
    await store.set('k', 'v');
    expect(text(await store.get('k'))).toBe('v');
  });
});

describe('what an earlier run has left', () => {
  test('killed: the next one says so and starts afresh', async () => {
    const path = newPath();
    const child = await livingMember(path, 2);
    child.kill('SIGKILL');
    await child.ended;
    const lines: string[] = [];
    const store = await open(path, { worldSize: 2, log: (line) => lines.push(line) });
    expect(await store.check(['here'])).toBe(false);
    expect(lines).toEqual([
      `ringrun: the file ${path} was left by a run that is gone (process ${child.pid} on ${hostname()}): starting afresh`,
    ]);
  });

  test('still going on and complete: the next one waits for its end', async () => {
    const path = newPath();
    const [a, b] = [await open(path, { worldSize: 2 }), await open(path, { worldSize: 2 })];
    await a.set('k', 'of the first run');
    const next = open(path, { worldSize: 2 });
    await a.close();
    expect(await b.check(['k'])).toBe(true);
    await b.close();
    expect(await (await next).check(['k'])).toBe(false);
  });

  test('… and when it does not end, names its processes', async () => {
    const path = newPath();
    const child = await livingMember(path, 1);
    const error = await FileStore.open(path, { worldSize: 1, timeoutMs: 100 }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(StoreTimeoutError);
    expect((error as Error).message).toContain(
      `it belongs to a run of 1 processes that still goes on (process ${child.pid} on ${hostname()})`,
    );
  });

  test('one that was not part of the run gives its place to another', async () => {
    const path = newPath();
    const [a, wrong] = [await open(path, { worldSize: 2 }), await open(path, { worldSize: 2 })];
    await wrong.withdraw();
    const right = await open(path, { worldSize: 2 });
    await a.set('k', 'v');
    expect(text(await right.get('k'))).toBe('v');
  });

  test('one whose run has failed leaves nothing', async () => {
    const path = newPath();
    const store = await open(path, { worldSize: 2 });
    await store.set('k', 'v');
    await store.withdraw();
    expect(existsSync(path)).toBe(false);
  });

  test('a run of another size is refused while it lasts, with both sizes', async () => {
    const path = newPath();
    const child = await livingMember(path, 3);
    const opening = FileStore.open(path, { worldSize: 2 });
    await expect(opening).rejects.toMatchObject({ code: 'ERR_JOB_MISMATCH' });
    await expect(opening).rejects.toThrow(
      new RegExp(`store of 3 processes, which process ${child.pid} on .* expects 2 processes`),
    );
    child.kill('SIGKILL');
    await child.ended;
    await open(path, { worldSize: 2, log: () => undefined });
  });
});

describe('files that are none', () => {
  test('the beginning of a record is cut off by the next writer, and nothing else', async () => {
    const path = newPath();
    const first = await open(path);
    await first.set('k', 'v');
    const whole = readFileSync(path);
    const half = whole.subarray(-40, -10);
    appendFileSync(path, half);
    const second = await open(path);
    expect(text(await second.get('k'))).toBe('v');
    await first.set('k', 'w');
    expect(text(await second.get('k'))).toBe('w');
    expect(readFileSync(path).includes(Buffer.concat([whole.subarray(-20), half]))).toBe(false);
  });

  test('zeros, as a crashed file system leaves them, are no records, and are cut off', async () => {
    const path = newPath();
    const first = await open(path);
    await first.set('k', 'v');
    appendFileSync(path, new Uint8Array(20));
    const second = await open(path);
    expect(text(await second.get('k'))).toBe('v');
    await first.set('k', 'w');
    expect(text(await second.get('k'))).toBe('w');
    expect(readFileSync(path).includes(Buffer.alloc(20))).toBe(false);
  });

  test('another program’s file is refused and not touched', async () => {
    const path = newPath();
    writeFileSync(path, 'a thesis');
    await expect(FileStore.open(path, { worldSize: 1 })).rejects.toMatchObject({ code: 'ERR_STORE_FILE' });
    expect(readFileSync(path, 'utf8')).toBe('a thesis');
  });

  test('an empty file is as good as none', async () => {
    const path = newPath();
    writeFileSync(path, '');
    await (await open(path, { worldSize: 1 })).set('k', 'v');
  });

  test('a folder that is not there is named', async () => {
    const path = join(newPath(), 'store');
    await expect(FileStore.open(path)).rejects.toThrow(`The store's file ${path} cannot be opened (ENOENT`);
  });

  test.each(['removed', 'replaced'])(
    'a file that is %s while it is in use is a store that is lost',
    async (how) => {
      const path = newPath();
      const store = await open(path);
      const waiting = store.get('k').catch((e: unknown) => e);
      await store.check([]);
      rmSync(path);
      if (how === 'replaced') await open(path);
      expect(await waiting).toMatchObject({ code: 'ERR_STORE_LOST' });
      await expect(store.set('k', 'v')).rejects.toMatchObject({ code: 'ERR_STORE_LOST' });
    },
  );

  test.each([0, -1, 1.5, NaN])('a world size of %d is refused', async (worldSize) => {
    const path = newPath();
    await expect(FileStore.open(path, { worldSize })).rejects.toBeInstanceOf(InvalidArgumentError);
    expect(existsSync(path)).toBe(false);
  });
});
