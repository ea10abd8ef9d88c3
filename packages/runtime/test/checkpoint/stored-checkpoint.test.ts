import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BucketClaim } from '../../src/checkpoint/bucket-claim.ts';
import { checkpointsAmong, newestFirst } from '../../src/checkpoint/catalogue.ts';
import { encodeManifest, fileRecordOf } from '../../src/checkpoint/manifest.ts';
import { readCheckpoint, readNewest } from '../../src/checkpoint/read-checkpoint.ts';
import { writeCheckpoint } from '../../src/checkpoint/write-checkpoint.ts';
import { openStorage } from '../../src/storage/index.ts';
import { readWhole } from '../../src/storage/directory-storage.ts';
import type { Storage } from '../../src/storage/index.ts';
import { startS3, useS3 } from '../support/s3.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const kinds: [kind: string, open: () => Promise<Storage>][] = [
  ['a folder', () => Promise.resolve(openStorage(temporaryFolder()))],
  [
    'a bucket',
    async () => {
      useS3((await startS3('checkpoints')).port);
      return openStorage('s3://checkpoints/job');
    },
  ],
];

function filesOf(step: number): Map<string, Uint8Array> {
  const model = Uint8Array.from({ length: 1000 }, (_, i) => (i * step) % 256);
  return new Map([
    ['model.safetensors', model],
    ['state.json', Buffer.from(`{"step":${step}}`)],
  ]);
}

const saveInfoOf = (step: number) => ({ step, epoch: 1, worldSize: 2, time: '2020-01-02T03:04:05.678Z' });

async function write(storage: Storage, step: number, keep = 3): Promise<string> {
  const job = { saveInfo: saveInfoOf(step), files: filesOf(step), keep };
  const { name, notDeleted } = await writeCheckpoint(storage, job);
  expect(notDeleted).toBeUndefined();
  return name;
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function failureOf(act: Promise<unknown>): Promise<{ code: string; message: string }> {
  const outcome: unknown = await act.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  );
  return outcome as { code: string; message: string };
}

/** The checkpoint that is read, and the lines that are reported. */
async function newestIn(storage: Storage) {
  const told: string[] = [];
  const candidates = newestFirst(checkpointsAmong(await storage.list('checkpoint-')));
  const readOne = ({ name }: { name: string }) => readCheckpoint(storage, name);
  const read = await readNewest(storage.location, candidates, readOne, (line) => told.push(line));
  return { step: read?.manifest.step, name: read?.name, told };
}

describe.each(kinds)('in %s', (_, open) => {
  test('finds the newest checkpoint and keeps the requested number', async () => {
    const storage = await open();
    expect(await newestIn(storage)).toEqual({ step: undefined, name: undefined, told: [] });
    for (const step of [5, 10, 15]) await write(storage, step, 2);
    // After returning to an earlier step, the last written checkpoint is the newest.
    await write(storage, 7, 2);
    expect(await newestIn(storage)).toEqual({ step: 7, name: 'checkpoint-000004-step-7', told: [] });
    const names = (await storage.list()).map(({ name }) => name);
    const files = ['manifest.json', 'model.safetensors', 'state.json'];
    expect(names).toEqual(
      ['checkpoint-000003-step-15', 'checkpoint-000004-step-7'].flatMap((folder) =>
        files.map((file) => `${folder}/${file}`),
      ),
    );
    const { manifest, files: read } = await readCheckpoint(storage, 'checkpoint-000004-step-7');
    expect(manifest).toMatchObject({ step: 7, epoch: 1, worldSize: 2, time: '2020-01-02T03:04:05.678Z' });
    for (const [file, bytes] of filesOf(7)) expect(Buffer.from(read.get(file)!).equals(bytes)).toBe(true);
  });

  test.each(['altered', 'truncated', 'missing'])(
    'reports one with an %s file with both hashes and reads the previous one',
    async (how) => {
      const storage = await open();
      for (const step of [5, 10]) await write(storage, step);
      const file = 'checkpoint-000002-step-10/model.safetensors';
      const bytes = filesOf(10).get('model.safetensors')!;
      const spoilt = how === 'truncated' ? bytes.subarray(0, 999) : bytes.with(500, bytes[500] ^ 1);
      if (how === 'missing') await storage.delete(file);
      else await storage.write(file, spoilt);
      const has =
        how === 'missing' ? 'it is missing' : `it has ${spoilt.length} bytes of SHA-256 ${sha256(spoilt)}`;
      const problem =
        `${storage.location}/checkpoint-000002-step-10 is damaged: model.safetensors: ${has}, ` +
        `expected 1000 bytes of SHA-256 ${sha256(bytes)}`;
      const name = 'checkpoint-000001-step-5';
      expect(await newestIn(storage)).toEqual({
        step: 5,
        name,
        told: [`${problem}. Resuming from ${name} instead.`],
      });
      expect(await failureOf(readCheckpoint(storage, 'checkpoint-000002-step-10'))).toMatchObject({
        code: 'ERR_CHECKPOINT_DAMAGED',
        message: problem,
      });
    },
  );

  test('ignores one without a manifest and deletes it at the next save', async () => {
    const storage = await open();
    await write(storage, 5);
    await storage.write('checkpoint-000002-step-10/model.safetensors', Buffer.from('half'));
    expect(await newestIn(storage)).toMatchObject({ step: 5, told: [] });
    expect(await write(storage, 10)).toBe('checkpoint-000003-step-10');
    expect(await storage.list('checkpoint-000002')).toEqual([]);
    expect(await newestIn(storage)).toMatchObject({ step: 10, told: [] });
  });
});

describe('a manifest', () => {
  const manifestOf = (name: string) => `${name}/manifest.json`;

  test.each([
    [
      'one digit of which was changed',
      (text: string) => text.replace('"step": 10', '"step": 11'),
      'its content has SHA-256 ',
    ],
    ['that is truncated', (text: string) => text.slice(0, 100), 'its 100 bytes are not valid JSON'],
    ['that is empty', () => '', 'its 0 bytes are not valid JSON'],
    ['of something else', () => '{"name":"x"}', 'it is not a manifest of a ringrun checkpoint'],
    ['that is null', () => 'null', 'it is not a manifest of a ringrun checkpoint'],
  ])('%s is damaged', async (_, spoil, message) => {
    const storage = openStorage(temporaryFolder());
    await write(storage, 5);
    const name = manifestOf(await write(storage, 10));
    const text = Buffer.from(await storage.read(name)).toString();
    await storage.write(name, Buffer.from(spoil(text)));
    const { step, told } = await newestIn(storage);
    expect(step).toBe(5);
    expect(told[0]).toContain(`checkpoint-000002-step-10 is damaged: manifest.json: ${message}`);
  });

  const record = { bytes: 1000, sha256: '0'.repeat(64) };

  // The hash is valid: another program wrote them.
  test.each<[string, object, string]>([
    [
      'files',
      { files: { '../../secret': record } },
      '"../../secret"] is not a valid file name in a checkpoint',
    ],
    ['files', { files: { 'manifest.json': record } }, '"manifest.json"] is not a valid file name'],
    ['files', { files: { 'state.json': null } }, '"state.json"] is null, expected an object'],
    ['files', { files: { 'state.json': { ...record, bytes: '1' } } }, '.bytes is "1", expected an integer'],
    [
      'files',
      { files: { 'state.json': { bytes: 1, sha256: 7 } } },
      '.sha256 is 7, expected 64 hexadecimal digits',
    ],
    ['files', { files: null }, 'its files is null, expected an object'],
    ['files', { files: [record] }, 'its files is [{'],
    ['version', { version: null }, 'its version is null, expected an integer of at least 1'],
    ['step', { step: -1 }, 'its step is -1, expected an integer of at least 0'],
    ['epoch', { epoch: 0.5 }, 'its epoch is 0.5'],
    ['worldSize', { worldSize: undefined }, 'its worldSize is missing, expected an integer of at least 1'],
    ['time', { time: 'yesterday' }, 'its time is "yesterday", expected an ISO 8601 time'],
  ])('with wrong %s %j is damaged', async (_, wrong, message) => {
    const storage = openStorage(temporaryFolder());
    await write(storage, 5);
    const name = manifestOf(await write(storage, 10));
    const { sha256: own, ...good } = JSON.parse(Buffer.from(await storage.read(name)).toString()) as Record<
      string,
      unknown
    >;
    expect(own).toBeDefined();
    const manifest = { ...good, ...wrong };
    const digest = sha256(Buffer.from(JSON.stringify(manifest)));
    await storage.write(name, Buffer.from(JSON.stringify({ ...manifest, sha256: digest })));
    const { step, told } = await newestIn(storage);
    expect(step).toBe(5);
    expect(told[0]).toContain('checkpoint-000002-step-10 is damaged: manifest.json: ');
    expect(told[0]).toContain(message);
  });

  test('rejects a newer format by its version and does not read an older checkpoint instead', async () => {
    const storage = openStorage(temporaryFolder());
    await write(storage, 5);
    const name = await write(storage, 10);
    const text = Buffer.from(await storage.read(manifestOf(name))).toString();
    await storage.write(manifestOf(name), Buffer.from(text.replace('"version": 1', '"version": 2')));
    const failure = await failureOf(newestIn(storage));
    expect(failure.code).toBe('ERR_CHECKPOINT_VERSION');
    expect(failure.message).toContain(`${name}: expected a format version of at most 1, got 2`);
  });

  test('has hashes that sha256sum can verify', () => {
    const files = { 'model.safetensors': { bytes: 3, sha256: sha256(Uint8Array.of(1, 2, 3)) } };
    const saveInfo = { step: 1, epoch: 0, worldSize: 4, time: '2020-01-01T00:00:00.000Z' };
    const { sha256: own, ...rest } = JSON.parse(
      Buffer.from(encodeManifest(saveInfo, files)).toString(),
    ) as Record<string, unknown>;
    expect(rest).toEqual({ format: 'ringrun checkpoint', version: 1, ...saveInfo, files });
    expect(own).toBe(sha256(Buffer.from(JSON.stringify(rest))));
  });
});

test('ignores a folder whose name has 200 digits', async () => {
  const storage = openStorage(temporaryFolder());
  const foreign = `checkpoint-${'9'.repeat(200)}-step-3/manifest.json`;
  await storage.write(foreign, Buffer.from('{}'));
  for (const step of [5, 10]) await write(storage, step, 1);
  expect(await newestIn(storage)).toEqual({ step: 10, name: 'checkpoint-000002-step-10', told: [] });
  expect((await storage.list()).map(({ name }) => name)).toContain(foreign);
});

test('hashes and reads a file in pieces of any size', async () => {
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i);
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, bytes);
  for (const atOnce of [1, 7, 999, 1000, 1001]) {
    expect(await fileRecordOf(bytes, atOnce)).toEqual({ bytes: 1000, sha256: sha256(bytes) });
    expect(Buffer.compare(await readWhole(path, atOnce), bytes)).toBe(0);
  }
});

test('the older of two jobs in one bucket stops, and deletes no file of the other', async () => {
  const storage = await kinds[1][1]();
  const claims = ['a', 'b'].map(
    (host) => new BucketClaim(storage, { id: host, host, pid: 7, runId: `run-${host}`, since: '2020-01-01' }),
  );
  const save = (claim: BucketClaim, step: number) =>
    writeCheckpoint(storage, { saveInfo: saveInfoOf(step), files: filesOf(step), keep: 1 }, claim);
  await save(claims[0], 5);
  await save(claims[1], 6);
  const failure = await failureOf(save(claims[0], 10));
  expect(failure.code).toBe('ERR_CHECKPOINT_IN_USE');
  expect(failure.message).toContain(
    'in use by another writer of checkpoints: process 7 on host b, run run-b, since 2020-01-01.',
  );
  expect(await newestIn(storage)).toMatchObject({ step: 6, told: [] });
  await save(claims[1], 7);
  expect(await newestIn(storage)).toMatchObject({ step: 7, told: [] });
});

test('reading a checkpoint that another job deletes names the shared folder, not damage', async () => {
  const storage = openStorage(temporaryFolder());
  const name = await write(storage, 5);
  const shared = Object.assign(Object.create(storage) as Storage, {
    read: async (file: string) => {
      if (file.endsWith('model.safetensors')) await storage.deleteFolder(name);
      return await storage.read(file);
    },
  });
  const { code, message } = await failureOf(readCheckpoint(shared, name));
  expect(code).toBe('ERR_CHECKPOINT_IN_USE');
  expect(message).toBe(
    `${storage.location}/${name} was deleted while it was read: another job saves to ${storage.location}. Use a separate location for each job, or stop that job first.`,
  );
});

test('throws if all checkpoints are damaged', async () => {
  const storage = openStorage(temporaryFolder());
  for (const step of [5, 10])
    await storage.write(`${await write(storage, step)}/state.json`, Buffer.from('x'));
  const { code, message } = await failureOf(newestIn(storage));
  expect(code).toBe('ERR_CHECKPOINT_DAMAGED');
  expect(message).toMatch(
    /all checkpoints in .* are damaged.*step-10 is damaged: state.json.*step-5 is damaged.*move them away/,
  );
});

test.each([
  { before: 'state.json', after: 'none' },
  { before: 'none', after: 'state.json' },
])(
  'names another job that deletes a checkpoint during its write ($before, $after)',
  async ({ before, after }) => {
    const folder = temporaryFolder();
    const storage = openStorage(folder);
    const other = { id: 'x', host: 'node7', pid: 123, runId: 'job-9', since: '2020-01-02T03:04:05.678Z' };
    writeFileSync(join(folder, 'writer.lock'), JSON.stringify(other));
    // The file system is real; another job's deletion is simulated at a certain moment.
    const write = storage.write.bind(storage);
    storage.write = async (name, bytes) => {
      const deletes = () => storage.deleteFolder(name.split('/')[0]);
      if (name.endsWith(before)) await deletes();
      await write(name, bytes);
      if (name.endsWith(after)) await deletes();
    };
    const job = { saveInfo: saveInfoOf(3), files: filesOf(3), keep: 3 };
    const { code, message } = await failureOf(writeCheckpoint(storage, job));
    expect(code).toBe('ERR_CHECKPOINT_IN_USE');
    expect(message).toMatch(
      /checkpoint-000001-step-3 was deleted while it was written: another job saves to .*\. The last writer is process 123 on host node7, run job-9, since 2020.*Use a separate location/,
    );
    expect(checkpointsAmong(await storage.list())).toEqual([]);
  },
);
