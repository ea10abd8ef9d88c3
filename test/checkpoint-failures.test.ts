import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startRelay } from '../packages/runtime/test/support/relay.ts';
import { credentials, startS3, startS3In } from '../packages/runtime/test/support/s3.ts';
import { builtScript } from './support/built-script.ts';
import { launch, node } from './support/command.ts';
import { isFull, ways } from './support/extent.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new Scenarios(builtScript('fixtures/checkpoints'), temporaryFolder());

const mebibyte = 2 ** 20;
const canMount =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp']).status === 0;
const mountProblem = canMount ? '' : ': skipped, mounting needs root';

type Environment = Record<string, string | number>;

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
    2,
    String.raw`the checkpoint of step [23] was not written to .* Earlier checkpoints are intact\. Training continues; .*`,
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

async function save(env: Environment, size = 1): Promise<void> {
  const paths = await scenarios.run<string>(size, 'save', { env, stderr: lines(0) });
  expect(paths[0]).toMatch(/checkpoint-000001-step-1$/);
}

async function expectFirstIsThere(env: Environment): Promise<void> {
  const found = await scenarios.run(1, 'resume', { env });
  expect(found).toEqual([{ failure: { message: 'none' }, step: 1, value: 1 }]);
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

test.runIf(canMount)(`a read-only volume${mountProblem}`, async () => {
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

/** Starts an HTTP server in this process and returns its port. */
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

// packages/runtime tests the answers of a service; this tests that all ranks get the error.
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
  await save(bucketAt(port), 2);
  const pass: RequestListener = ({ method, url, headers }, response) => {
    const upstream = request({ port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    // The process that asked may be dead, and the test over, when its delay has passed.
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

describe('folders that exist on one host only', () => {
  test('a rank that sees the newest checkpoint sends it; the next one has a higher number', async () => {
    const [full, empty] = [temporaryFolder(), temporaryFolder()];
    await save({ DIR: full }, 2);
    const stderr = expect.stringMatching(
      new RegExp(
        String.raw`^ringrun: rank 0 \(host .*\) does not see checkpoint-000001-step-1 in ${empty}; rank 1 \(host .*\) sees it and sends it to all ranks\. Keep checkpoints in a folder that all hosts share.*\n$`,
      ),
    ) as unknown;
    const env = { DIRS: `${empty},${full}` };
    for (const found of await scenarios.run(2, 'resumeAndSave', { env, stderr }))
      expect(found).toEqual({
        step: 1,
        value: 1,
        latest: [`${empty}/checkpoint-000002-step-2`, `${full}/checkpoint-000001-step-1`],
      });
    // Rank 0 uses its first folder again.
    const back = { DIRS: `${full},${empty}` };
    for (const found of await scenarios.run(2, 'resume', {
      env: back,
      stderr: expect.stringContaining('checkpoint-000002-step-2'),
    }))
      expect(found).toMatchObject({ step: 2 });
  });

  test('of several trainings the last is resumed, and one line names the others', async () => {
    const [old, own] = [temporaryFolder(), temporaryFolder()];
    await scenarios.run(1, 'save', { env: { DIR: old, STEPS: '1,900' } });
    await scenarios.run(1, 'save', { env: { DIR: own, STEPS: 40 } });
    const line =
      /the hosts have checkpoints of different trainings: rank 0 \(host .*\) has checkpoint-000002-step-900, saved 20.*; rank 1 \(host .*\) has checkpoint-000001-step-40, saved 20.*\. Resuming from the one that was saved last, checkpoint-000001-step-40 of rank 1\./;
    const stderr = expect.stringMatching(line) as unknown;
    const found = await scenarios.run(2, 'resume', { env: { DIRS: `${old},${own}` }, stderr });
    for (const one of found) expect(one).toMatchObject({ failure: { message: 'none' }, step: 40 });
  });

  test('a copy on another host replaces a damaged one, and a line says so', async () => {
    const [first, second] = [temporaryFolder(), temporaryFolder()];
    await scenarios.run(1, 'save', { env: { DIR: first, STEPS: '1,2' } });
    cpSync(first, second, { recursive: true });
    const name = 'checkpoint-000002-step-2';
    writeFileSync(join(first, name, 'holder.safetensors'), 'damaged');
    const line = new RegExp(
      `${name} is damaged: holder\\.safetensors: .* Resuming from ${name} of rank 1 instead\\.`,
    );
    const stderr = expect.stringMatching(line) as unknown;
    const found = await scenarios.run(2, 'resume', { env: { DIRS: `${first},${second}` }, stderr });
    for (const one of found) expect(one).toMatchObject({ step: 2, value: 1 });
  });

  test.each([
    ['no checkpoint', '', 'no rank sees a checkpoint in this location'],
    [
      'newer numbers of another training',
      '1,1',
      String.raw`rank 0 \(host .*\) sees only checkpoints of other trainings, such as checkpoint-000002-step-1`,
    ],
  ])(
    'a restarted job that finds %s instead of its own fails with host and folder',
    async (_, others, seen) => {
      const [folder, results] = [temporaryFolder(), temporaryFolder()];
      const elsewhere = { DIR: join(folder, 'mine-of-another-host') };
      if (others !== '') await scenarios.run(1, 'save', { env: { ...elsewhere, STEPS: others } });
      const args = [
        '--nproc',
        '2',
        '--max-restarts',
        '1',
        builtScript('fixtures/checkpoints'),
        'saveAndRestart',
        results,
      ];
      await launch(args, { env: { DIR: join(folder, 'mine') } }).ended;
      const found = [0, 1].map(
        (rank) => JSON.parse(readFileSync(join(results, `saveAndRestart-${rank}.json`), 'utf8')) as Failure,
      );
      expect(found[1]).toEqual(found[0]);
      expect(found[0].code).toBe('ERR_CHECKPOINT_BEHIND');
      expect(found[0].message).toMatch(
        new RegExp(
          String.raw`this job has saved step 7 \(${folder}/here/checkpoint-000001-step-7, written on host ${hostname()}\), but ${seen} .* path of a checkpoint to resume\(\)`,
        ),
      );
    },
  );
});

test('a second job cannot save to the same folder while the first one runs', async () => {
  const env = { DIR: temporaryFolder() };
  const first = node([builtScript('checkpoint-failures.script'), 'stays'], {
    env: { ...env, RINGRUN_RUN_ID: 'job-7' },
  });
  await first.sees(/saved/);
  const second = () => node([builtScript('checkpoint-failures.script'), 'exits'], { env }).ended;
  const refused = await second();
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('ERR_CHECKPOINT_IN_USE');
  expect(refused.stderr).toMatch(
    new RegExp(
      `Checkpointer\\.save: rank 0: ${env.DIR} is in use by another writer of checkpoints: process ${first.pid} on host ${hostname()}, run job-7, since 20.*Use a separate location for each job`,
    ),
  );
  process.kill(first.pid, 'SIGKILL');
  await first.ended;
  expect(await second()).toMatchObject({ code: 0, stdout: 'saved\n' });
  expect(readdirSync(env.DIR)).toEqual([
    'checkpoint-000001-step-1',
    'checkpoint-000002-step-1',
    'writer.lock',
  ]);
});

describe('a process that ends while it writes a checkpoint', () => {
  const script = builtScript('checkpoint-failures.script');

  /** A bucket that delays each of three files; `written` lists those that it has confirmed. */
  async function bucketThatTakes(delayMs: number) {
    const written: string[] = [];
    const port = await serve((incoming, response) => {
      incoming.resume();
      if (incoming.method === 'GET') response.end(emptyList);
      else
        setTimeout(() => {
          const name = incoming.url!.split('/').at(-1)!.split('?')[0];
          if (name !== 'writer.json') written.push(name);
          response.end();
        }, delayMs);
    });
    return { env: bucketAt(port), written };
  }

  const complete = ['holder.safetensors', 'state.json', 'manifest.json'];

  test.each(
    ways<[string, object]>(
      [
        ['throws', { code: 1, signal: null }],
        ['is told to end', { code: null, signal: 'SIGTERM' }],
      ],
      [['exits', { code: 0, signal: null }]],
    ),
  )('%s: completes the checkpoint first', async (how, end) => {
    const { env, written } = await bucketThatTakes(300);
    const command = node([script, how], { env });
    if (how === 'is told to end') {
      await command.sees(/saved/);
      process.kill(command.pid, 'SIGTERM');
    }
    expect(await command.ended).toMatchObject({
      ...end,
      stdout: 'saved\n',
      stderr: expect.stringMatching(
        /^ringrun: waiting for the checkpoint of step 1 for s3:\/\/checkpoints\/job to be written before the process ends, for at most 29 s\.\n/m,
      ) as unknown,
    });
    expect(written).toEqual(complete);
  });

  test.each([
    [
      'exits',
      1,
      /the checkpoint of step 1 for s3:.* is lost: it was not complete within the grace period of 0\.8 s\./,
    ],
    [
      'exits without awaiting',
      1,
      /Checkpointer\.save of step 1 is lost: the process exits before its state is copied\./,
    ],
  ])('%s: reports the lost checkpoint', async (how, code, line) => {
    const { env, written } = await bucketThatTakes(1000);
    const ended = await node([script, how], { env: { ...env, RINGRUN_GRACE: 1 } }).ended;
    expect(ended).toMatchObject({ code, stderr: expect.stringMatching(line) as unknown });
    expect(written).not.toContain('manifest.json');
  });

  test.each(
    ways<[string, RegExp]>(
      [['peer dies', /root cause: rank 1 .*SIGKILL/]],
      [['is told to end', /ended by SIGTERM; all workers ended/]],
    ),
  )('the launcher (%s) waits for it', async (how, line) => {
    // Longer than the grace of other workers after a failure.
    const { env, written } = await bucketThatTakes(how === 'peer dies' ? 1300 : 300);
    const command = launch(['--nproc', '2', script, how], { env });
    if (how === 'is told to end') {
      await command.sees(/saved\n[^]*saved\n/);
      process.kill(command.pid, 'SIGTERM');
    }
    const { code, stderr, left } = await command.ended;
    expect({ ends: code !== 0, left }).toEqual({ ends: true, left: [] });
    expect(stderr).toMatch(line);
    expect(written).toEqual(complete);
  });
});
