import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isFull } from '../../../../../test/support/extent.ts';
import { Checkpointer } from '../../../src/checkpoint/index.ts';
import { flatten } from '../../../src/checkpoint/flat-state.ts';
import { encodeParts } from '../../../src/checkpoint/packed-parts.ts';
import { writeCheckpoint } from '../../../src/checkpoint/write-checkpoint.ts';
import { S3Storage } from '../../../src/storage/s3-storage.ts';
import { startFaultyS3 } from '../../support/faulty-s3.ts';
import type { FaultyS3 } from '../../support/faulty-s3.ts';
import { s3Environment } from '../../support/s3.ts';
import { faults } from './faults.ts';

/*
 * The table of (answer, operation) → outcome. An outcome is `ok` or the code of the error without ERR_STORAGE_, and the
 * number of attempts.
 */

const operations = ['list', 'get', 'put', 'begin', 'part', 'complete', 'delete'] as const;
type Column = (typeof operations)[number];

/** The outcome of all operations but those that are listed. */
type Row = { all: string } & Partial<Record<Column, string>>;

const endpoint: Row = { all: 'ENDPOINT 1' };
const permission: Row = { all: 'PERMISSION 1' };
const failed: Row = { all: 'ERR_STORAGE 1' };
const failedThrice: Row = { all: 'ERR_STORAGE 3' };
const interruptedThrice: Row = { all: 'INTERRUPTED 3' };

const table: Readonly<Record<keyof typeof faults, Row>> = {
  '200 HTML': endpoint,
  '200 HTML with an ETag': endpoint,
  '200 HTML as text/plain': endpoint,
  '200 JSON': endpoint,
  // A deletion has no other answer than its status.
  '200 empty': { ...endpoint, delete: 'ok 1' },
  '200 other XML': endpoint,
  '200 truncated XML': { ...endpoint, list: 'ANSWER 3' },
  '200 Error': { ...failedThrice, get: 'ENDPOINT 1' },
  '204': { ...endpoint, delete: 'ok 1' },
  '301 PermanentRedirect': endpoint,
  '302 with Location': endpoint,
  '307 without Location': endpoint,
  '307 to itself': endpoint,
  '304': endpoint,
  '400 InvalidRequest': failed,
  '400 no XML': endpoint,
  '401': permission,
  '401 HTML': endpoint,
  '403 AccessDenied': permission,
  '403 HTML': endpoint,
  '403 RequestTimeTooSkewed': { all: 'CREDENTIALS 1' },
  '404 NoSuchBucket': { all: 'BUCKET 1' },
  '404 NoSuchKey': { all: 'NOT_FOUND 1', delete: 'ok 1' },
  '404 HTML': endpoint,
  '404 empty': endpoint,
  '405 MethodNotAllowed': failed,
  '407 HTML': endpoint,
  '409 OperationAborted': failedThrice,
  '411 MissingContentLength': failed,
  '412 PreconditionFailed': { all: 'INTERRUPTED 1' },
  '416 InvalidRange': failed,
  '429 SlowDown': failedThrice,
  '429 empty': failedThrice,
  '500 InternalError': failedThrice,
  '501 NotImplemented': failed,
  '502 HTML': failedThrice,
  '503 with Retry-After': failedThrice,
  '507': { all: 'FULL 1' },
  '599 of an unknown code': failed,
  'a code with escapes': endpoint,
  '10 MB of error text': endpoint,
  'no HTTP': endpoint,
  'no answer': interruptedThrice,
  'a reset before the answer': interruptedThrice,
  'a reset in the headers': interruptedThrice,
  'a reset in the body': interruptedThrice,
  'a body that is too short': interruptedThrice,
  'two lengths': endpoint,
  'a negative length': endpoint,
  'a length of 2^60': { ...interruptedThrice, get: 'ERR_STORAGE 1' },
  'no gzip as gzip': { all: 'ANSWER 1', get: 'ok 1' },
  silence: interruptedThrice,
  'a body that stalls': interruptedThrice,
};

/** Answers that do not come: three attempts take three times the patience, which is 30 s by default. */
const slow = new Set(['silence', 'a body that stalls']);

/** Long enough for a busy machine to answer. */
const patienceOf = (name: string) => (slow.has(name) ? 2000 : 20_000);

/** S3's least. */
const partBytes = 5 * 2 ** 20;

const content = Buffer.from('content');
const large = Buffer.alloc(partBytes + 1, 7);

let s3: FaultyS3;
let restore: () => void;

beforeAll(async () => {
  s3 = await startFaultyS3();
  restore = s3Environment(s3.port);
  const parts = new Map([['counter', { perRank: false, states: [flatten({ count: 1 }, 'counter')] }]]);
  const files = encodeParts(parts, (_, bytes) => new Uint8Array(bytes));
  const saveInfo = { step: 1, epoch: 0, worldSize: 1, time: '2020-01-02T03:04:05.678Z' };
  await writeCheckpoint(new S3Storage({ bucket: 'data', prefix: 'saved' }), { saveInfo, files, keep: 1 });
});

afterAll(() => {
  s3.close();
  restore();
});

function counterAt(count: number) {
  const counter = {
    count,
    stateDict: () => ({ count: counter.count }),
    loadStateDict: (state: { count: number }) => void (counter.count = state.count),
  };
  return counter;
}

interface Outcome {
  value?: unknown;
  error?: Error & { code: string };
}

async function outcomeOf(act: Promise<unknown>): Promise<Outcome> {
  return await act.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: error as Error & { code: string } }),
  );
}

async function act(operation: Column, storage: S3Storage): Promise<void> {
  if (operation === 'list') await storage.list();
  else if (operation === 'get') await storage.read('x');
  else if (operation === 'delete') await storage.delete('x');
  else await storage.write('x', operation === 'put' ? content : large);
}

/** No raw text of the server, in the message and in what Node prints of the error. */
function expectClean(error: Error): void {
  const shown = inspect(error, { depth: 9 });
  expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
  expect(error.message.length).toBeLessThan(2000);
  expect(error.message).not.toMatch(/RangeError|TypeError|SyntaxError|Deserialization|undefined|@smithy/);
}

function expectUseful(error: Error, url: string): void {
  expectClean(error);
  expect(error.name).toBe('StorageError');
  expect(error.message).toMatch(
    new RegExp(`^(listing|reading|writing|deleting) ${url}(/x)? at http://127.0.0.1:${s3.port}: `),
  );
  expect(error.message).toMatch(/\)\. [A-Z].*\.$/);
  const { $metadata } = (error.cause ?? {}) as { $metadata?: { httpStatusCode?: number } };
  if ($metadata?.httpStatusCode !== undefined)
    expect(error.message).toContain(`HTTP ${$metadata.httpStatusCode}`);
}

describe.concurrent('each operation has the expected outcome for', () => {
  test.for(Object.entries(table))('%s', async ([name, row]) => {
    const fault = faults[name as keyof typeof faults];
    const results = operations.map(async (operation) => {
      const prefix = `${name.replaceAll(/\W/g, '-')}/${operation}`;
      s3.objects.set(`${prefix}/x`, content);
      const attempts = s3.fail(operation, prefix, fault);
      const storage = new S3Storage({ bucket: 'data', prefix, partBytes, patienceMs: patienceOf(name) });
      const { error } = await outcomeOf(act(operation, storage));
      if (error) expectUseful(error, `s3://data/${prefix}`);
      return [operation, `${error?.code.replace('ERR_STORAGE_', '') ?? 'ok'} ${attempts()}`] as const;
    });
    const { all, ...others } = row;
    const expected = Object.fromEntries(operations.map((operation) => [operation, others[operation] ?? all]));
    // Both parts of the upload have the fault.
    const found = Object.fromEntries(await Promise.all(results));
    expect({ ...found, part: '' }).toEqual({ ...expected, part: '' });
    expect(found.part.replace(/\d+$/, '')).toBe(expected.part.replace(/\d+$/, ''));
  });
});

/** The short form resumes with every fourth answer; the table above tests all. */
const resumed = Object.keys(table)
  .filter((name) => !slow.has(name))
  .filter((_, position) => isFull || position % 4 === 0);

describe.concurrent("resume('auto') does not begin at step 0, and changes nothing, with", () => {
  test.for(resumed)('%s', async (name) => {
    const fault = faults[name as keyof typeof faults];
    for (const operation of ['list', 'get'] as const) {
      const prefix = `resume-${name.replaceAll(/\W/g, '-')}/${operation}`;
      for (const [key, object] of s3.objects)
        if (key.startsWith('saved/')) s3.objects.set(key.replace('saved', prefix), object);
      s3.fail(operation, prefix, fault);
      const checkpoints = new Checkpointer({ dir: `s3://data/${prefix}` });
      const counter = counterAt(5);
      checkpoints.register({ counter });
      const { error } = await outcomeOf(checkpoints.resume('auto'));
      expect(error?.code).toMatch(/^ERR_CHECKPOINT_(NOT_READ|NOT_FOUND|DAMAGED)$/);
      expectClean(error!);
      expect(error!.message).toContain(`s3://data/${prefix}`);
      expect(counter.count).toBe(5);
    }
  });
});
