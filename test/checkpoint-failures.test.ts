import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startRelay } from '../packages/runtime/test/support/relay.ts';
import { credentials, startS3, startS3In } from '../packages/runtime/test/support/s3.ts';
import { isFull, ways } from './support/extent.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new Scenarios('test/fixtures/checkpoints.js', temporaryFolder());

const mebibyte = 2 ** 20;
const canMount =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp']).status === 0;

type Environment = Record<string, string | number>;

interface Failure {
  code: string;
  message: string;
  cause?: { code?: string; message: string };
}

/** So many lines that match, and beside them what is said of a write that takes long, as on a busy machine it may. */
function lines(count: number, pattern = ''): unknown {
  const waits = String.raw`(ringrun: Checkpointer\.\w+ waits for the checkpoint of step \d, .*\n)?`;
  return expect.stringMatching(new RegExp(`^${waits}(ringrun: ${pattern}\n${waits}){${count}}$`));
}

/** Two ranks whose writes fail, the second as the first unless told otherwise: on both the same errors, with this cause. */
async function expectFailingWrites(
  env: Environment,
  code: string,
  problem: string,
  secondProblem = problem,
): Promise<void> {
  const stderr = lines(
    2,
    String.raw`the checkpoint of step [23] was not written to .* Those before it are as they were\. Training goes on; .*`,
  );
  const found = await scenarios.run<Record<string, Failure>>(2, 'fail', { env, stderr });
  expect(found[1]).toEqual(found[0]);
  const { atFinish, atSave, told } = found[0];
  for (const [failure, who, step, reason] of [
    [atFinish, 'finished', 2, problem],
    [atSave, 'save', 3, secondProblem],
  ] as const) {
    expect(failure).toMatchObject({ code: 'ERR_CHECKPOINT_NOT_WRITTEN', cause: { code } });
    expect(failure.message).toContain(
      `Checkpointer.${who}: rank 0: the checkpoint of step ${step} was not written to ${env.DIR}: `,
    );
    expect(failure.message).toContain(reason);
  }
  expect(told.message).toBe('none');
}

async function save(env: Environment): Promise<void> {
  const paths = await scenarios.run<string>(2, 'save', { env, stderr: lines(0) });
  expect(paths[0]).toMatch(/checkpoint-000001-step-1$/);
}

async function expectFirstIsThere(env: Environment): Promise<void> {
  for (const found of await scenarios.run(2, 'resume', { env }))
    expect(found).toEqual({ failure: { message: 'none' }, step: 1, value: 1 });
}

/** An empty file system of its own. */
function mounted(options: string): string {
  const folder = temporaryFolder();
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status).toBe(0);
  onTestFinished(() => {
    spawnSync('umount', [folder]);
  });
  return folder;
}

test.runIf(canMount)('a full disk', async () => {
  const env = { DIR: mounted('size=1m'), BYTES: 2 * mebibyte };
  await save(env);
  await expectFailingWrites(env, 'ERR_STORAGE_FULL', 'holder.safetensors: full (ENOSPC');
  await expectFirstIsThere(env);
});

test.runIf(canMount)('a read-only volume', async () => {
  const env = { DIR: mounted('size=1m') };
  await save(env);
  expect(spawnSync('mount', ['-o', 'remount,ro', env.DIR]).status).toBe(0);
  await expectFailingWrites(env, 'ERR_STORAGE_READ_ONLY', 'read-only (EROFS');
  await expectFirstIsThere(env);
});

function bucketAt(port: number, environment: Readonly<Environment> = {}): Environment & { DIR: string } {
  const endpoint = { AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`, AWS_EC2_METADATA_DISABLED: 'true' };
  return { DIR: 's3://checkpoints/job', ...endpoint, ...credentials, ...environment };
}

test('a bucket whose server is killed in mid-write loses nothing', async () => {
  const folder = temporaryFolder();
  const server = await startS3In(folder, 'checkpoints');
  await save(bucketAt(server.port));
  await expectFirstIsThere(bucketAt(server.port));
  const limit = 5 * mebibyte;
  const relay = await startRelay(server.port, { limit, of: 'requests', then: () => void server.kill() });
  const env = bucketAt(relay, { BYTES: 20 * mebibyte });
  const writing =
    'writing s3://checkpoints/job/checkpoint-000002-step-2/holder.safetensors at http://127.0.0.1:';
  await expectFailingWrites(env, 'ERR_STORAGE_INTERRUPTED', writing, 'listing s3://checkpoints/job/');
  await expectFirstIsThere(bucketAt((await startS3In(folder, 'checkpoints')).port));
});

/** A service of this process; returns its port. */
async function serve(answer: RequestListener): Promise<number> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const emptyList = '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';

test('a bucket that may be listed, and not written to', async () => {
  const port = await serve((request, response) => {
    request.resume();
    if (request.method === 'GET') response.end(emptyList);
    else
      response.writeHead(403).end('<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>');
  });
  await expectFailingWrites(bucketAt(port), 'ERR_STORAGE_PERMISSION', 's3:PutObject');
});

test.runIf(isFull)('a save waits for the one before it, and says so', async () => {
  const slowMs = 1500;
  const port = await serve((request, response) => {
    request.resume();
    if (request.method === 'GET') response.end(emptyList);
    else setTimeout(() => response.end(), slowMs);
  });
  const line = `ringrun: Checkpointer.save waits for the checkpoint of step 1, which is still being written to s3://checkpoints/job.\n`;
  const finish = line.replace('save', 'finished').replace('step 1', 'step 2');
  const found = await scenarios.run<Record<'first' | 'second' | 'all', number>>(2, 'wait', {
    env: bucketAt(port),
    stderr: line + finish,
  });
  // The files of tensors (holder, the generator's state), state.json and the manifest.
  const writeMs = 4 * slowMs;
  for (const { first, second, all } of found) {
    expect(first).toBeLessThan(slowMs);
    expect(second).toBeGreaterThan(writeMs);
    expect(all).toBeGreaterThan(2 * writeMs);
  }
});

// What a service may say is in the tests of packages/runtime, too: here, that all ranks are told.
test.each(
  ways<[string, Readonly<Environment>, string]>(
    [['credentials that it does not know', { AWS_ACCESS_KEY_ID: 'somebody' }, 'ERR_STORAGE_CREDENTIALS']],
    [
      ['a name that no bucket has', { DIR: 's3://nowhere/job' }, 'ERR_STORAGE_BUCKET'],
      [
        'an endpoint where nobody is',
        { AWS_ENDPOINT_URL_S3: 'http://nowhere.invalid:9000' },
        'ERR_STORAGE_ENDPOINT',
      ],
    ],
  ),
)('%s: resuming is one error on every rank, and nothing begins anew', async (_, environment, code) => {
  const { port } = await startS3('checkpoints');
  const found = await scenarios.run<{ failure: Failure; value: number }>(2, 'resume', {
    env: bucketAt(port, environment),
  });
  expect(found[1]).toEqual(found[0]);
  expect(found[0]).toMatchObject({ failure: { code: 'ERR_CHECKPOINT_NOT_READ', cause: { code } }, value: 0 });
  expect(found[0].failure.message).toContain('Checkpointer.resume("auto"): rank 0: listing ');
});
