import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startRelay } from '../packages/runtime/test/support/relay.ts';
import { startS3, startS3In } from '../packages/runtime/test/support/s3.ts';
import { builtScript } from './support/built-script.ts';
import { bucketAt, emptyList, serve, type Environment } from './support/bucket.ts';
import { launch } from './support/command.ts';
import { isFull, ways } from './support/extent.ts';
import { SharedScenarios } from './support/shared-scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new SharedScenarios(builtScript('fixtures/checkpoints'), temporaryFolder());

const mebibyte = 2 ** 20;
const canMount =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp']).status === 0;
const mountProblem = canMount ? '' : ': skipped, mounting needs root';

interface Failure {
  code: string;
  message: string;
  cause?: { code?: string; message: string };
}

/** Expects this many matching lines; allows lines about slow writes, which occur on busy machines. */
function lines(count: number, pattern = ''): unknown {
  const waits = String.raw`(ringrun: Checkpointer\.\w+ waits for the checkpoint of step \d, .*\n)?`;
  return expect.stringMatching(new RegExp(`^${waits}(ringrun: ${pattern}\n${waits}){${count}}$`));
}

/** Two ranks whose writes fail. Expects the same errors on both, with this cause. */
async function expectFailingWrites(
  env: Environment,
  code: string,
  problem: string,
  secondProblem = problem,
): Promise<void> {
  const stderr = lines(
    3,
    String.raw`the checkpoint of step [234] was not written to .* Earlier checkpoints are intact\. Training continues; .*`,
  );
  const found = await scenarios.run<Record<string, Failure>>(2, 'fail', { env, stderr });
  expect(found[1]).toEqual(found[0]);
  const { atFinish, atSave, atEnd } = found[0];
  for (const [failure, who, step, reason] of [
    [atFinish, 'finished', 2, problem],
    [atSave, 'save', 3, secondProblem],
    [atEnd, 'finished', 4, secondProblem],
  ] as const) {
    expect(failure).toMatchObject({ code: 'ERR_CHECKPOINT_NOT_WRITTEN', cause: { code } });
    expect(failure.message).toContain(
      `Checkpointer.${who}: rank 0: the checkpoint of step ${step} was not written to ${env.DIR}: `,
    );
    expect(failure.message).toContain(reason);
  }
  expect(atSave.message).toMatch(/ The checkpoint of step 4 is being written\.$/);
}

async function save(env: Environment): Promise<void> {
  const paths = await scenarios.run<string>(2, 'save', { env, stderr: lines(0) });
  expect(paths[0]).toMatch(/checkpoint-000001-step-1$/);
}

async function expectFirstIsThere(env: Environment): Promise<void> {
  for (const found of await scenarios.run(2, 'resume', { env }))
    expect(found).toEqual({ failure: { message: 'none' }, step: 1, value: 1 });
}

/** Mounts an empty file system. */
function mounted(options: string): string {
  const folder = temporaryFolder();
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status).toBe(0);
  onTestFinished(() => {
    spawnSync('umount', [folder]);
  });
  return folder;
}

test.runIf(canMount)(`a full disk${mountProblem}`, async () => {
  const env = { DIR: mounted('size=1m'), BYTES: 2 * mebibyte };
  await save(env);
  await expectFailingWrites(env, 'ERR_STORAGE_FULL', 'holder.safetensors: full (ENOSPC');
  await expectFirstIsThere(env);
});

test.runIf(canMount)(
  `a disk that is full once loses one checkpoint, and every rank is told once${mountProblem}`,
  async () => {
    const env = { DIR: mounted('size=5m'), BYTES: 2 * mebibyte };
    const found = await scenarios.run<{ atSave: Failure; after: Failure; latest: string }>(2, 'failOnce', {
      env,
      stderr: lines(1, 'the checkpoint of step 2 was not written to .*'),
    });
    expect(found[1]).toEqual(found[0]);
    expect(found[0]).toMatchObject({
      atSave: { code: 'ERR_CHECKPOINT_NOT_WRITTEN', cause: { code: 'ERR_STORAGE_FULL' } },
      after: { message: 'none' },
    });
    expect(found[0].latest).toMatch(/checkpoint-000002-step-4$/);
  },
);

test.runIf(canMount)(`a read-only volume${mountProblem}`, async () => {
  const env = { DIR: mounted('size=1m') };
  await save(env);
  expect(spawnSync('mount', ['-o', 'remount,ro', env.DIR]).status).toBe(0);
  await expectFailingWrites(env, 'ERR_STORAGE_READ_ONLY', 'read-only (EROFS');
  await expectFirstIsThere(env);
});

test('a bucket whose server is killed during a write loses nothing', async () => {
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

test('a bucket that can be listed but not written', async () => {
  const port = await serve((request, response) => {
    request.resume();
    if (request.method === 'GET') response.end(emptyList);
    else
      response.writeHead(403).end('<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>');
  });
  await expectFailingWrites(bucketAt(port), 'ERR_STORAGE_PERMISSION', 's3:PutObject');
});

test.runIf(isFull)('a save waits for the previous save and logs it', async () => {
  const slowMs = 1500;
  const port = await serve((request, response) => {
    request.resume();
    response.setHeader('ETag', '"1"');
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

// packages/runtime tests the answers of a service; this tests that all ranks throw the error.
test.each(
  ways<[string, Readonly<Environment>, string]>(
    [['unknown credentials', { AWS_ACCESS_KEY_ID: 'unknown' }, 'ERR_STORAGE_CREDENTIALS']],
    [
      ['the name of a missing bucket', { DIR: 's3://nowhere/job' }, 'ERR_STORAGE_BUCKET'],
      [
        'an endpoint without a server',
        { AWS_ENDPOINT_URL_S3: 'http://nowhere.invalid:9000' },
        'ERR_STORAGE_ENDPOINT',
      ],
    ],
  ),
)(
  '%s: resume fails with one error on every rank, and training does not start over',
  async (_, environment, code) => {
    const { port } = await startS3('checkpoints');
    const found = await scenarios.run<{ failure: Failure; value: number }>(2, 'resume', {
      env: bucketAt(port, environment),
    });
    expect(found[1]).toEqual(found[0]);
    expect(found[0]).toMatchObject({
      failure: { code: 'ERR_CHECKPOINT_NOT_READ', cause: { code } },
      value: 0,
    });
    expect(found[0].failure.message).toContain('Checkpointer.resume("auto"): rank 0: listing ');
  },
);

/** A bucket with one checkpoint that delays every answer. */
async function slowBucket(delayMs: number): Promise<Environment> {
  const { port } = await startS3('checkpoints');
  await save(bucketAt(port));
  const pass: RequestListener = ({ method, url, headers }, response) => {
    const upstream = request({ port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    // The client may be dead, and the test over, when the delay has passed.
    upstream.on('error', () => response.destroy());
    upstream.end();
  };
  return bucketAt(await serve((...args) => void setTimeout(pass, delayMs, ...args)));
}

describe('storage slower than the timeout of a collective', () => {
  test('all ranks wait for it, and the death of rank 0 ends the wait at once', async () => {
    const env = await slowBucket(900);
    for (const found of await scenarios.run(2, 'resume', { env: { ...env, TIMEOUT_MS: 2500 } }))
      expect(found).toEqual({ failure: { message: 'none' }, step: 1, value: 1 });
    const folder = temporaryFolder();
    const args = ['--nproc', '2', builtScript('fixtures/checkpoints'), 'dieWhileReading', folder];
    await launch(args, { env }).ended;
    const { failure, ms } = JSON.parse(readFileSync(join(folder, 'dieWhileReading-1.json'), 'utf8')) as {
      failure: Failure;
      ms: number;
    };
    expect(failure).toMatchObject({ code: 'ERR_PEER_DIED' });
    // Otherwise it would wait for the timeout of 30 min; a busy machine may take some seconds.
    expect(ms).toBeLessThan(15_000);
  });
});
