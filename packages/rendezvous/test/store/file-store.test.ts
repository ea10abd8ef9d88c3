import {
  appendFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError, StoreTimeoutError } from '@ringrun/core';
import crc32c from 'crc-32/crc32c.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FileStore } from '../../src/store/file-store.ts';
import type { FileStoreOptions } from '../../src/store/file-store.ts';
import { encodeRecord, fileHeader } from '../../src/store/file/record.ts';
import { encodeRequest } from '../../src/store/wire.ts';
import { LogFile } from '../../src/store/file/log-file.ts';
import { mutated } from '../../../runtime/test/support/mutated.ts';
import { temporaryFolder } from '../../../runtime/test/support/temporary-folder.ts';
import { start } from './processes.ts';

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
const newPath = () => join(temporaryFolder(), 'store');
const member = new URL('file-store.script.ts', import.meta.url);

async function open(path: string, options: FileStoreOptions = {}): Promise<FileStore> {
  const store = await FileStore.open(path, { timeoutMs: 20_000, ...options });
  onTestFinished(() => store.close());
  return store;
}

/** A process that opens the file, sets `here` and other keys, and stays until it is killed. */
async function livingMember(path: string, worldSize: number) {
  const child = start(member, { STORE: path, WORLD_SIZE: worldSize }, ['stay']);
  await child.sees(/opened/);
  return child;
}

describe('the file', () => {
  test('is removed by the last of worldSize processes', async () => {
    const path = newPath();
    const [a, b] = [await open(path, { worldSize: 2 }), await open(path, { worldSize: 2 })];
    await a.set('k', 'v');
    await a.close();
    expect(existsSync(path)).toBe(true);
    expect(text(await b.get('k'))).toBe('v');
    await b.close();
    expect(existsSync(path)).toBe(false);
  });

  test('stays for processes that join after others have left, as in torch', async () => {
    const path = newPath();
    const first = await open(path, { worldSize: 2 });
    await first.set('k', 'left behind');
    await first.close();
    const second = await open(path, { worldSize: 2 });
    expect(text(await second.get('k'))).toBe('left behind');
    await second.close();
    expect(existsSync(path)).toBe(false);
  });

  test('stays if worldSize is not set', async () => {
    const path = newPath();
    const first = await open(path);
    await first.set('k', 'v');
    await first.close();
    expect(text(await (await open(path)).get('k'))).toBe('v');
  });

  test('is readable and writable only by its user', async () => {
    const path = newPath();
    await open(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

describe('processes', () => {
  test('share a counter, and wait for each other', async () => {
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

  test('that are killed during a write do not affect others', async () => {
    const path = newPath();
    const store = await open(path);
    for (let round = 0; round < 5; round += 1) {
      const child = start(member, { STORE: path, WORLD_SIZE: 0 }, ['count on']);
      await child.sees(/counts/);
      child.kill('SIGKILL');
      await child.ended;
      const after = await store.add('n', 1);
      expect(await store.add('n', 1)).toBe(after + 1);
    }
    // Another reads the same from the beginning.
    expect(await (await open(path)).add('n', 0)).toBe(await store.add('n', 0));
  });

  test('that stop during a write make others wait, and then time out with the reason', async () => {
    const path = newPath();
    const lines: string[] = [];
    const store = await open(path, { timeoutMs: 2500, log: (line) => lines.push(line) });
    const child = start(member, { STORE: path, WORLD_SIZE: 0 }, ['keep the pen']);
    await child.sees(/has the pen/);
    await expect(store.set('k', 'v')).rejects.toThrow(
      /^set\("k"\) timed out after 3 s: another process keeps the file .* locked/,
    );
    expect(lines).toEqual([expect.stringMatching(/waiting for another process to finish writing/)]);
    child.kill('SIGKILL');
    await child.ended;
    await store.set('k', 'v');
    expect(text(await store.get('k'))).toBe('v');
  });
});

describe('the file of an earlier run', () => {
  test('killed: the next run logs that and clears the file', async () => {
    const path = newPath();
    const child = await livingMember(path, 2);
    child.kill('SIGKILL');
    await child.ended;
    const lines: string[] = [];
    const store = await open(path, { worldSize: 2, log: (line) => lines.push(line) });
    expect(await store.check(['here'])).toBe(false);
    expect(lines).toEqual([
      `ringrun: clearing the file ${path}, which was left by a killed run (process ${child.pid} on ${hostname()})`,
    ]);
  });

  test('active and complete: the next run waits for its end', async () => {
    const path = newPath();
    const [a, b] = [await open(path, { worldSize: 2 }), await open(path, { worldSize: 2 })];
    await a.set('k', 'of the first run');
    const next = open(path, { worldSize: 2 });
    await a.close();
    expect(await b.check(['k'])).toBe(true);
    await b.close();
    expect(await (await next).check(['k'])).toBe(false);
  });

  test('active and complete: the next run times out with its processes', async () => {
    const path = newPath();
    const child = await livingMember(path, 1);
    const error = await FileStore.open(path, { worldSize: 1, timeoutMs: 100 }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(StoreTimeoutError);
    expect((error as Error).message).toContain(
      `it belongs to a run of 1 processes that is still active (process ${child.pid} on ${hostname()})`,
    );
  });

  test('withdraw lets another process join', async () => {
    const path = newPath();
    const [a, wrong] = [await open(path, { worldSize: 2 }), await open(path, { worldSize: 2 })];
    await wrong.withdraw();
    const right = await open(path, { worldSize: 2 });
    await a.set('k', 'v');
    expect(text(await right.get('k'))).toBe('v');
  });

  test('withdraw of the only process removes the file', async () => {
    const path = newPath();
    const store = await open(path, { worldSize: 2 });
    await store.set('k', 'v');
    await store.withdraw();
    expect(existsSync(path)).toBe(false);
  });

  test('refuses another world size while the run is active, with both sizes', async () => {
    const path = newPath();
    const child = await livingMember(path, 3);
    const opening = FileStore.open(path, { worldSize: 2 });
    await expect(opening).rejects.toMatchObject({ code: 'ERR_JOB_MISMATCH' });
    await expect(opening).rejects.toThrow(
      new RegExp(
        `expected a store of 2 processes, got one of 3 processes, opened by process ${child.pid} on `,
      ),
    );
    child.kill('SIGKILL');
    await child.ended;
    await open(path, { worldSize: 2, log: () => undefined });
  });
});

describe('damaged and foreign files', () => {
  test('the next writer cuts off an incomplete record, and nothing else', async () => {
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

  test('zeros of a crashed file system are cut off', async () => {
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

  test('refuses the file of another program, without changing it', async () => {
    const path = newPath();
    writeFileSync(path, 'a thesis');
    await expect(FileStore.open(path, { worldSize: 1 })).rejects.toMatchObject({ code: 'ERR_STORE_FILE' });
    expect(readFileSync(path, 'utf8')).toBe('a thesis');
  });

  test('accepts an empty file', async () => {
    const path = newPath();
    writeFileSync(path, '');
    await (await open(path, { worldSize: 1 })).set('k', 'v');
  });

  test('names a missing folder', async () => {
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

  test.each([0, -1, 1.5, NaN])('refuses a world size of %d', async (worldSize) => {
    const path = newPath();
    await expect(FileStore.open(path, { worldSize })).rejects.toBeInstanceOf(InvalidArgumentError);
    expect(existsSync(path)).toBe(false);
  });
});

describe('a file of hostile bytes', () => {
  const record = (message: Uint8Array) => {
    const prefix = Buffer.alloc(8);
    prefix.writeUInt32LE(message.length, 0);
    prefix.writeUInt32LE(crc32c.buf(message) >>> 0, 4);
    return Buffer.concat([prefix, message]);
  };
  const good = [
    encodeRecord({ client: 'a', entry: 'joined', joined: { host: 'h', pid: 1, worldSize: 2 } }),
    encodeRecord({
      client: 'a',
      entry: 'request',
      request: encodeRequest({ id: 1, call: { op: 'add', key: 'k', amount: 3 } }),
    }),
  ];

  async function read(path: string): Promise<unknown> {
    const log = await LogFile.open(path);
    try {
      return await log.read();
    } finally {
      await log.close();
    }
  }

  test('400 damaged files are read or rejected by name', async () => {
    const path = newPath();
    let rejected = 0;
    const files = [
      ...mutated(Buffer.concat([fileHeader, ...good]), 200),
      // Valid checksums of damaged messages.
      ...Array.from(mutated(good[1].subarray(8), 200), (message) =>
        Buffer.concat([fileHeader, record(message)]),
      ),
    ];
    for (const bytes of files) {
      writeFileSync(path, bytes);
      const records = await read(path).catch((error: unknown) => error);
      if (Array.isArray(records)) continue;
      expect(records).toMatchObject({ code: 'ERR_STORE_FILE' });
      expect((records as Error).message).toContain(`The store's file ${path} `);
      rejected += 1;
    }
    expect(rejected).toBeGreaterThan(50);
  });

  test('a sparse file of 1 TB is rejected by its size and the bound', async () => {
    const path = newPath();
    writeFileSync(path, fileHeader);
    truncateSync(path, 1e12);
    await expect(read(path)).rejects.toThrow(
      `${path} is too large (1000000000000 bytes are unread, expected at most 1073741824)`,
    );
  });

  test('a record of a call that does not exist ends the store with an error that names the file', async () => {
    const path = newPath();
    const store = await open(path, { worldSize: 2 });
    await store.set('k', 'v');
    appendFileSync(path, encodeRecord({ client: 'b', entry: 'request', request: Buffer.of(0xff) }));
    await expect(store.get('k')).rejects.toMatchObject({
      code: 'ERR_STORE_FILE',
      message: expect.stringContaining(`${path} has an invalid record`) as unknown,
    });
  });
});
