import { readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { bucketAt, emptyList, serve } from './support/bucket.ts';
import { launch, node } from './support/command.ts';
import { ways } from './support/extent.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

test('a second job cannot save to the same folder while the first one runs', async () => {
  const env = { DIR: temporaryFolder() };
  const first = node([builtScript('checkpoint-writers.script'), 'stays'], {
    env: { ...env, RINGRUN_RUN_ID: 'job-7' },
  });
  await first.sees(/saved/);
  const second = () => node([builtScript('checkpoint-writers.script'), 'exits'], { env }).ended;
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
  const script = builtScript('checkpoint-writers.script');

  /** A bucket that delays each of three files; `written` lists those that it has confirmed. */
  async function bucketThatTakes(delayMs: number) {
    const written: string[] = [];
    let claim: Buffer[] = [];
    const port = await serve((incoming, response) => {
      const isClaim = incoming.url!.includes('writer.json');
      if (isClaim && incoming.method === 'PUT') claim = [];
      incoming.on('data', (bytes: Buffer) => {
        if (isClaim) claim.push(bytes);
      });
      if (incoming.method === 'GET' && isClaim)
        response.setHeader('ETag', '"claim"').end(Buffer.concat(claim));
      else if (incoming.method === 'GET') response.end(emptyList);
      else
        setTimeout(() => {
          const name = incoming.url!.split('/').at(-1)!.split('?')[0];
          if (name !== 'writer.json') written.push(name);
          response.setHeader('ETag', `"${name}"`).end();
        }, delayMs);
    });
    return { env: bucketAt(port), written };
  }

  const complete = ['holder.safetensors', 'state.json', 'manifest.json'];

  test.each(
    ways<[string, object]>(
      [
        ['throws', { code: 1, signal: null }],
        ['receives SIGTERM', { code: null, signal: 'SIGTERM' }],
      ],
      [['exits', { code: 0, signal: null }]],
    ),
  )('%s: completes the checkpoint first', async (how, end) => {
    const { env, written } = await bucketThatTakes(300);
    const command = node([script, how], { env });
    if (how === 'receives SIGTERM') {
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
      [['receives SIGTERM', /ended by SIGTERM; all workers ended/]],
    ),
  )('the launcher (%s) waits for it', async (how, line) => {
    // Longer than the grace of other workers after a failure.
    const { env, written } = await bucketThatTakes(how === 'peer dies' ? 1300 : 300);
    const command = launch(['--nproc', '2', script, how], { env });
    if (how === 'receives SIGTERM') {
      await command.sees(/saved\n[^]*saved\n/);
      process.kill(command.pid, 'SIGTERM');
    }
    const { code, stderr, left } = await command.ended;
    expect({ ends: code !== 0, left }).toEqual({ ends: true, left: [] });
    expect(stderr).toMatch(line);
    expect(written).toEqual(complete);
  });
});
