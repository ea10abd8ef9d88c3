import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../../../../test/support/free-port.ts';
import { connectStore } from '../../../rendezvous/src/store/client.ts';
import { start } from '../../../rendezvous/test/store/processes.ts';
import { launch, temporaryFolder, temporaryScript } from '../support/launched.ts';

const none = { RINGRUN_SECRET: undefined, RINGRUN_SECRET_FILE: undefined };
const secret = 'correct horse battery staple';

/** Writes its secret to the file of its rank, prints the store, waits for SIGUSR1 and fails. */
const worker = `
  import { writeFileSync } from 'node:fs';
  const { RANK, RINGRUN_SECRET, RINGRUN_STORE } = process.env;
  writeFileSync(process.argv[2] + RANK, String(RINGRUN_SECRET));
  process.on('SIGUSR1', () => { throw new Error('failed'); });
  setInterval(() => {}, 1000);
  console.log('STORE', RINGRUN_STORE, process.pid);`;

test('a job of one node has a random secret, which no log, error or command line shows', async () => {
  const base = join(temporaryFolder(), 'secret-');
  const launched = launch(['--nproc', '2', temporaryScript('worker.mjs', worker), base], {
    env: { ...none, RINGRUN_DEBUG: '1', RINGRUN_REQUIRE_SECRET: '1' },
  });
  const [[endpoint, pid]] = await launched.marked('STORE', 2);
  const [one, other] = ['0', '1'].map((rank) => readFileSync(base + rank, 'utf8'));
  expect(one).toBe(other);
  expect(Buffer.from(one, 'base64url')).toHaveLength(32);
  expect(execFileSync('ps', ['-ww', '-eo', 'args'], { encoding: 'utf8' })).not.toContain(one);

  const { hostname: host, port } = new URL(endpoint);
  const at = { host, port: Number(port), timeoutMs: 60_000, log: () => undefined };
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('RINGRUN_SECRET', undefined);
  await expect(connectStore(at)).rejects.toMatchObject({ code: 'ERR_SECRET_MISMATCH' });
  vi.stubEnv('RINGRUN_SECRET', one);
  const store = await connectStore(at);
  await store.set('key', 'value');
  await store.close();

  process.kill(Number(pid), 'SIGUSR1');
  const { code, stdout, stderr } = await launched.ended;
  expect(code).toBe(1);
  expect(stderr).toContain('Error: failed');
  expect(stdout + stderr).not.toContain(one);
});

test('a node with another secret ends within seconds, one with the same secret joins', async () => {
  const folder = temporaryFolder();
  const files = [`${secret}\n`, secret, 'another secret of another job'].map((text, i) => {
    writeFileSync(join(folder, `secret${i}`), text);
    return join(folder, `secret${i}`);
  });
  const script = temporaryScript('worker.mjs', worker);
  const master = ['--master-addr', '127.0.0.1', '--master-port', String(await freePort())];
  const node = (rank: number, file: number) =>
    launch(
      [
        '--nnodes',
        '2',
        '--node-rank',
        `${rank}`,
        ...master,
        '--secret-file',
        files[file],
        script,
        `${folder}/of-`,
      ],
      { env: none },
    );
  const first = node(0, 0);
  await expect.poll(() => first.output(), { timeout: 20_000 }).toMatch(/waiting for/);
  const stranger = await node(1, 2).ended;
  expect(stranger.code).toBe(1);
  expect(stranger.stderr).toMatch(
    /^ringrun: Connecting to the store at 127\.0\.0\.1:\d+ failed: expected the secret of the job that serves it, but this process has another one\./m,
  );
  expect(stranger.stderr).not.toMatch(/\n\s+at /);
  const second = node(1, 1);
  await second.marked('STORE', 1);
  await first.marked('STORE', 1);
  expect(readFileSync(`${folder}/of-1`, 'utf8')).toBe(secret);
  expect(first.output() + second.output()).not.toMatch(/no secret|correct horse/);
});

test('several nodes without a secret: one warning from the node with the store, or refused', async () => {
  const script = temporaryScript('worker.mjs', worker);
  const base = join(temporaryFolder(), 'secret-');
  const nodes = ['--nnodes', '2', '--master-addr', '127.0.0.1', '--master-port', String(await freePort())];
  // As in a pod, where a loopback master address does not mean that the job has one host.
  const env = { ...none, KUBERNETES_SERVICE_HOST: '10.96.0.1' };
  const both = [0, 1].map((rank) => launch([...nodes, '--node-rank', `${rank}`, script, base], { env }));
  for (const one of both) await one.marked('STORE', 1);
  const warnings = both.map((one) => one.output().match(/^ringrun: this job has no secret: .*$/gm) ?? []);
  expect(warnings.map(({ length }) => length)).toEqual([1, 0]);
  expect(warnings[0][0]).toContain('openssl rand -base64 32 > ringrun.secret');

  const required = { ...none, RINGRUN_REQUIRE_SECRET: '1' };
  const refused = await launch([...nodes, '--node-rank', '0', script, base], { env: required }).ended;
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(
    /^ringrun: RINGRUN_REQUIRE_SECRET is 1: expected a secret of the job .*, got none\./,
  );
  const absent = await launch(['--secret-file', `${base}absent`, script, base], { env: none }).ended;
  expect(absent.code).toBe(2);
  expect(absent.stderr).toContain(
    `--secret-file: expected a file with the secret of the job, got ${base}absent (ENOENT)`,
  );
});

test('without a launcher, ranks with one secret meet in the store of rank 0; others are refused', async () => {
  const INIT_METHOD = `tcp://127.0.0.1:${await freePort()}`;
  const terminal = (rank: number, more: Record<string, string>) =>
    start(new URL('../../../runtime/test/process-group/two-terminals.script.ts', import.meta.url), {
      ...{ INIT_METHOD, TEST_RANK: rank, TEST_WORLD_SIZE: 2, RINGRUN_SECRET: secret },
      ...more,
    });
  const zero = terminal(0, {});
  const stranger = terminal(1, { RINGRUN_SECRET: 'another secret of another job' });
  expect(await stranger.ended).toMatchObject({ code: 1 });
  expect(stranger.output().stderr).toContain('ERR_SECRET_MISMATCH');
  const refused = terminal(1, { RINGRUN_SECRET: '', RINGRUN_REQUIRE_SECRET: '1' });
  expect(await refused.ended).toMatchObject({ code: 1 });
  expect(refused.output().stderr).toContain('ERR_SECRET_REQUIRED');
  const one = terminal(1, {});
  for (const rank of [zero, one]) {
    expect(await rank.ended, rank.output().stderr).toEqual({ code: 0, signal: null });
    expect(rank.output().stdout).toContain('sum 3\n');
  }
});

test('--encrypt encrypts data connections of the group and of subgroups, and needs a secret', async () => {
  const script = temporaryScript(
    'worker.mjs',
    `
    import { allReduce, initProcessGroup, newGroup } from 'ringrun';
    const rank = Number(process.env.RANK);
    const encrypt = process.argv[2] === String(rank) ? false : undefined;
    await initProcessGroup(encrypt === undefined ? {} : { encrypt });
    const sum = Float32Array.of(rank + 1);
    await allReduce(sum);
    await allReduce(sum, { group: await newGroup([0, 1]) });
    console.log('sum', sum[0]);`,
  );
  const overTcp = { ...none, RINGRUN_TRANSPORT: 'tcp' };
  const encrypted = await launch(['--encrypt', '--nproc', '2', script], { env: overTcp }).ended;
  expect(encrypted.stdout.match(/sum 6/g), encrypted.stderr).toHaveLength(2);
  const onOneRank = await launch(['--encrypt', '--nproc', '2', script, '1'], { env: overTcp }).ended;
  expect(onOneRank.code).toBe(1);
  expect(onOneRank.stderr).toMatch(
    /rank 0 .* encrypts its connections, rank 1 .* does not\. Set RINGRUN_ENCRYPT=1/,
  );
  const nodes = ['--nnodes', '2', '--node-rank', '0', '--master-addr', '127.0.0.1'];
  const refused = await launch([...nodes, '--encrypt', script], { env: none }).ended;
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(
    /^ringrun: Encryption of data connections \(RINGRUN_ENCRYPT\): expected a secret of the job, got none\./,
  );
});

test('ranks that meet in a file with unlike secrets end at once with ERR_SECRET_MISMATCH', async () => {
  const INIT_METHOD = `file://${join(temporaryFolder(), 'store')}`;
  const ranks = [secret, 'another secret of another job'].map((own, rank) =>
    start(new URL('../../../runtime/test/process-group/two-terminals.script.ts', import.meta.url), {
      ...{ INIT_METHOD, TEST_RANK: rank, TEST_WORLD_SIZE: 2, RINGRUN_SECRET: own },
    }),
  );
  for (const [rank, one] of ranks.entries()) {
    expect(await one.ended).toMatchObject({ code: 1 });
    expect(one.output().stderr).toContain('ERR_SECRET_MISMATCH');
    expect(one.output().stderr).toMatch(new RegExp(`Connecting rank ${rank} .* to rank ${1 - rank} failed`));
  }
});
