import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { browserProblem, openPage } from '../../../../test/support/browser.ts';
import { freePort } from '../../../../test/support/free-port.ts';
import { readPageAssets } from '../../src/dashboard/page/assets.ts';
import { contentPolicyOf } from '../../src/dashboard/page/page.ts';
import type { Status } from '../../src/dashboard/status.ts';
import { builtFile } from '../../../../test/support/built-script.ts';
import { isFull } from '../../../../test/support/extent.ts';
import { command, launch, temporaryFolder } from '../support/launched.ts';
import type { Launched } from '../support/launched.ts';

const script = fileURLToPath(builtFile(new URL('./training.script.ts', import.meta.url)));

interface Job extends Launched {
  /** With the token. */
  url: string;
  status(): Promise<Status>;
  /** Resolves with the first status that fulfils the condition. */
  until(isReached: (status: Status) => boolean): Promise<Status>;
  /** Ends the training and resolves with the launcher's exit code. */
  stop(): Promise<number | null>;
}

/** Starts a training with a dashboard, of two ranks unless `args` say otherwise. */
async function train({ args = ['--nproc', '2'], slowRank = -1, env = {} } = {}): Promise<Job> {
  const stop = join(temporaryFolder(), 'stop');
  const place = `--dashboard=127.0.0.1:${await freePort()}`;
  const job = launch([...args, place, script, stop, String(slowRank)], {
    env: { OMP_NUM_THREADS: '1', ...env },
  });
  return dashboardOf(job, stop);
}

async function dashboardOf(job: Launched, stop: string): Promise<Job> {
  const url = await eventually(job, () =>
    Promise.resolve(/^ringrun: dashboard: (http:\S+)$/m.exec(job.output())?.[1]),
  );
  const status = async () => (await (await ask(url, 'status.json')).json()) as Status;
  return {
    ...job,
    url,
    status,
    until: (isReached) =>
      eventually(job, async () => {
        const found = await status();
        return isReached(found) ? found : undefined;
      }),
    stop: async () => {
      writeFileSync(stop, '');
      return (await job.ended).code;
    },
  };
}

/** Repeats until there is a result, for 30 s at most; fails with the output of the job. */
async function eventually<Result>(job: Launched, look: () => Promise<Result | undefined>): Promise<Result> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(100);
  }
  throw new Error(`not reached within 30 s: ${job.output()}`);
}

/** A request with the token of the URL. */
function ask(url: string, path: string): Promise<Response> {
  const { origin, searchParams } = new URL(url);
  return fetch(new URL(path, origin), {
    headers: { authorization: `Bearer ${searchParams.get('token') ?? ''}` },
  });
}

function top(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [command, 'top', ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
}

test('a job shows its slow rank on the page, at /metrics and in ringrun top, and frees the port', async () => {
  const [logs, tmp] = [temporaryFolder(), temporaryFolder()];
  const args = ['--nproc', '2', '--log-dir', logs, '-r', '1'];
  const job = await train({ args, slowRank: 1, env: { TMPDIR: tmp } });
  const { origin } = new URL(job.url);
  const status = await job.until(({ slowest, curve }) => slowest !== undefined && curve.length > 1);
  expect(status).toMatchObject({
    worldSize: 2,
    unit: 'images',
    learningRate: 0.1,
    missing: [],
    slowest: { rank: 1 },
    progress: { epoch: 1, epochs: 2, stepsOfEpoch: 1_000_000 },
    name: basename(script),
    scalars: [{ name: '<b>accuracy</b>' }],
  });
  expect(status.ranks.map(({ state }) => state)).toEqual(['training', 'training']);
  // Rank 0 awaits rank 1 in every step.
  expect(status.ranks[0].waiting).toBeGreaterThan(status.ranks[1].waiting + 0.2);
  expect(status.rate).toBeGreaterThan(0);

  expect((await fetch(`${origin}/`)).status).toBe(401);
  expect((await fetch(`${origin}/metrics?token=wrong`)).status).toBe(401);
  expect((await ask(job.url, 'other')).status).toBe(404);
  const signedIn = await fetch(job.url, { redirect: 'manual' });
  expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, './']);
  const cookie = signedIn.headers.get('set-cookie')!.split(';')[0];
  const page = await fetch(`${origin}/`, { headers: { cookie } });
  expect(page.headers.get('content-security-policy')).toBe(contentPolicyOf(readPageAssets()));
  expect(await page.text()).toContain('<title>ringrun</title>');
  const metrics = await ask(job.url, 'metrics');
  expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const families = await metrics.text();
  expect(families).toMatch(/^ringrun_samples_total\{rank="1",host=".+"\} \d+$/m);
  expect(families).toMatch(/^ringrun_scalar\{rank="0",host=".+",name="<b>accuracy<\/b>"\} \d+$/m);

  for (const target of [[job.url], [logs], []]) {
    const { status: code, stdout } = top(['--once', ...target], { TMPDIR: tmp });
    expect(stdout, target.join()).toMatch(/^slowest: rank 1 on /m);
    expect(code).toBe(0);
  }
  const other = top(['--once', new URL(job.url).host], { RINGRUN_SECRET: 'the secret of another job' });
  expect(other.status).toBe(1);
  expect(other.stderr).toContain('did not accept the token');

  expect(await job.stop()).toBe(0);
  await expect(fetch(origin)).rejects.toThrow('fetch failed');
  expect(top(['--once', logs]).stdout).toMatch(/, ended$/m);
});

test.runIf(isFull)('a flood of requests does not stop the training', async () => {
  const job = await train();
  const before = await job.until(({ ranks }) => ranks.length === 2);
  const { hostname: host, port } = new URL(job.url);
  const sockets: Socket[] = [];
  let refused = 0;
  const open = (): Socket => {
    const socket = connect(Number(port), host);
    sockets.push(socket);
    socket.on('error', () => undefined);
    return socket;
  };
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  // Clients that send many requests, and read nothing of the answers.
  for (let i = 0; i < 16; i += 1) {
    const socket = open().pause();
    socket.write(
      `GET / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tokenOf(job.url)}\r\n\r\n`.repeat(200),
    );
  }
  // A browser that asks too often: 100 requests at once and 50 per second are answered.
  const answers = await Promise.all(
    Array.from({ length: 300 }, () => ask(job.url, 'metrics').catch(() => undefined)),
  );
  for (const answer of answers) if (answer?.status !== 200) refused += 1;
  expect(refused).toBeGreaterThan(0);
  for (const socket of sockets) socket.destroy();
  const after = await eventually(job, async () => {
    const answer = await ask(job.url, 'status.json').catch(() => undefined);
    const status = answer?.ok === true ? ((await answer.json()) as Status) : undefined;
    return status !== undefined && status.ranks[0].steps > before.ranks[0].steps + 100 ? status : undefined;
  });
  expect(after.ranks.map(({ state }) => state)).toEqual(['training', 'training']);
  expect(await job.stop()).toBe(0);
});

function tokenOf(url: string): string {
  return new URL(url).searchParams.get('token')!;
}

test('a restart stays on the page, with the error that caused it', async ({ skip }) => {
  const args = ['--nproc', '2', '--max-restarts', '1', '--name', 'my run'];
  const job = await train({ args, env: { FAIL: '1' } });
  const status = await job.until(
    ({ restartCount, ranks }) => restartCount === 1 && ranks.length === 2 && ranks[0].steps > 20,
  );
  expect(status.events.map(({ what }) => what)).toEqual([
    expect.stringMatching(/^rank 1 on host .*Error: <b>the disk<\/b> is full$/),
    expect.stringMatching(/^restarting the workers: /),
  ]);
  const metrics = await (await ask(job.url, 'metrics')).text();
  expect(metrics).toContain('\nringrun_restarts_total 1\n');
  if (browserProblem !== undefined) {
    await job.stop();
    skip(browserProblem);
    return;
  }
  const page = await openPage();
  const problems: string[] = [];
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  await page.goto(job.url);
  const text = (selector: string) => page.locator(selector).first().innerText();
  const style = (selector: string, property: string) =>
    page.evaluate(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')`);
  expect(await text('#state')).toBe('training');
  expect(await text('#job')).toMatch(/^job .+, 2 ranks, restart 1$/);
  expect(await text('.tile')).toMatch(/^Loss\n[\d.e-]+\nlearning rate 0\.1$/);
  expect(await page.locator('#ranks tr').count()).toBe(2);
  expect(await style('.tile', 'border-radius')).toBe('8px');
  expect(await text('#title')).toBe('my run');
  expect(await page.title()).toMatch(/^my run: loss [\d.e-]+$/);
  // As text, not as markup.
  expect(await page.locator('#events').innerText()).toContain('Error: <b>the disk</b> is full');
  expect(await page.locator('#events b').count()).toBe(0);
  // The script reads the next status by itself.
  await page.locator('#loss path.curve[d^=M]').waitFor({ state: 'attached' });
  await page.locator('#charts .scalar path.curve[d^=M]').waitFor({ state: 'attached' });
  expect(await text('.scalar figcaption')).toMatch(/^<b>accuracy<\/b>\s+\d+$/);
  // The address keeps the scale, so a reload does too.
  await page.getByLabel('log scale').check();
  await page.reload();
  expect(page.url()).toMatch(/#log$/);
  expect(await page.getByLabel('log scale').isChecked()).toBe(true);
  await page.getByLabel('log scale').uncheck();
  expect(page.url()).not.toContain('#');
  await page.setViewportSize({ width: 400, height: 800 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(400);
  const steps = await text('#ranks td:nth-child(4)');
  await eventually(job, async () => ((await text('#ranks td:nth-child(4)')) !== steps ? true : undefined));
  expect(problems).toEqual([]);
  expect(await job.stop()).toBe(0);
  await page.getByText(/^the job has ended or has been unreachable for \d+ s$/).waitFor();
});

test.runIf(isFull)('the node of the store shows the ranks of all nodes', async () => {
  const stop = join(temporaryFolder(), 'stop');
  const port = String(await freePort());
  const nodes = await Promise.all(
    [0, 1].map(async (node) =>
      launch(
        [
          ...[
            '--nnodes',
            '2',
            '--node-rank',
            String(node),
            '--master-addr',
            '127.0.0.1',
            '--master-port',
            port,
          ],
          ...[`--dashboard=127.0.0.1:${await freePort()}`, script, stop, '1'],
        ],
        { env: { OMP_NUM_THREADS: '1', RINGRUN_SECRET: 'a secret for the test' } },
      ),
    ),
  );
  const job = await dashboardOf(nodes[0], stop);
  const status = await job.until(({ ranks, slowest }) => ranks.length === 2 && slowest !== undefined);
  expect(status.slowest?.rank).toBe(1);
  expect(status.events.map(({ what }) => what)).toContainEqual(expect.stringContaining('starts the job'));
  expect(nodes[1].output()).not.toContain('dashboard:');
  // With the secret of the job, the address is enough.
  const secret = { RINGRUN_SECRET: 'a secret for the test' };
  expect(top(['--once', new URL(job.url).host], secret).stdout).toMatch(/^ringrun: job .+: 2 ranks$/m);
  const bearer = top(['--token'], secret).stdout.trim();
  expect(bearer).toBe(tokenOf(job.url));
  expect(await job.stop()).toBe(0);
  expect((await nodes[1].ended).code).toBe(0);
});

test.runIf(isFull)('a script without a training report shows its steps and its waiting', async () => {
  const stop = join(temporaryFolder(), 'stop');
  const bare = fileURLToPath(
    builtFile(new URL('../../../runtime/test/report/train-job.script.ts', import.meta.url)),
  );
  const place = `--dashboard=127.0.0.1:${await freePort()}`;
  const job = await dashboardOf(launch(['--nproc', '2', place, bare, 'asynchronous', stop]), stop);
  const status = await job.until(
    ({ ranks }) => ranks.length === 2 && ranks.every(({ steps }) => steps > 100),
  );
  expect(status.ranks.every(({ waiting }) => waiting > 0)).toBe(true);
  expect([status.rate, status.loss, status.progress]).toEqual([undefined, undefined, undefined]);
  expect(await job.stop()).toBe(0);
});

describe('a place that cannot be served ends the launcher before any worker starts', () => {
  test('an address beyond loopback without a secret', async () => {
    const args = ['--nnodes', '2', '--node-rank', '0', '--master-port', String(await freePort())];
    const { code, stderr } = await launch([...args, '--dashboard=0.0.0.0:0', script]).ended;
    expect([code, stderr]).toEqual([2, expect.stringContaining('Expected host or host:port')]);
    const refused = await launch([...args, `--dashboard=0.0.0.0:${await freePort()}`, script]).ended;
    expect(refused.stderr).toMatch(
      /^ringrun: --dashboard: expected a loopback address .* has no secret, got 0\.0\.0\.0/m,
    );
    expect(refused.code).toBe(2);
  });

  test('a port that is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await launch([`--dashboard=127.0.0.1:${port}`, script]).ended;
    expect(stderr).toMatch(
      new RegExp(`^ringrun: --dashboard: 127\\.0\\.0\\.1:${port} is in use by process ${process.pid} `, 'm'),
    );
    expect(code).toBe(1);
  });
});

const hasPty = spawnSync('script', ['--version']).status === 0;

test.runIf(isFull && hasPty)('ringrun top redraws a terminal in place until q is typed', async () => {
  const job = await train();
  await job.until(({ ranks }) => ranks.length === 2);
  const top = spawn('script', ['-qec', `${process.execPath} ${command} top '${job.url}'`, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  top.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  await eventually(job, () => Promise.resolve(shown.split('\x1b[H').length > 2 ? true : undefined));
  const ended = once(top, 'exit');
  top.stdin.write('q');
  expect(await ended).toEqual([0, null]);
  expect(shown).toContain('\x1b[?1049h');
  expect(shown.slice(shown.indexOf('\x1b[?1049l'))).toContain('2 ranks');
  expect(await job.stop()).toBe(0);
});
