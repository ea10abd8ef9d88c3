import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { ways } from '../../../../test/support/extent.ts';
import { command, isRunning, launch, temporaryScript } from '../support/launched.ts';

test.each(
  ways<[NodeJS.Signals, number, ...string[]]>(
    [
      ['SIGTERM', 143],
      ['SIGINT', 130],
      ['SIGUSR2', 140, '--signals-to-handle', 'SIGUSR2'],
    ],
    [
      ['SIGHUP', 129],
      ['SIGQUIT', 131],
    ],
  ),
)('%s reaches the workers and their children, and the exit code is %d', async (signal, exitCode, ...args) => {
  const source = `
    import { spawn } from 'node:child_process';
    const helper = spawn('sleep', ['1000']);
    process.on('${signal}', () => { console.log('SAVED', process.env.RANK); endWhenBoth(); });
    helper.on('exit', (code, how) => { console.log('HELPER', how); endWhenBoth(); });
    let first = true;
    const endWhenBoth = () => first ? (first = false) : process.exit(0);
    setInterval(() => {}, 1e6);
    console.log('READY', helper.pid);`;
  const launched = launch(['--nproc', '2', ...args, temporaryScript('train.mjs', source)]);
  await launched.marked('READY', 2);
  process.kill(launched.pid, signal);
  const { code, stdout, stderr } = await launched.ended;
  expect(code).toBe(exitCode);
  expect(stdout.match(/^SAVED [01]$/gm)).toHaveLength(2);
  expect(stdout.match(new RegExp(`^HELPER ${signal}$`, 'gm'))).toHaveLength(2);
  expect(stderr).toBe(`ringrun: ended by ${signal}; all workers ended\n`);
});

const deaf = `
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => { console.log('HEARD', signal); });
  console.log('READY', process.pid);
  setInterval(() => {}, 1e6);`;

test('kills remaining workers after the grace period', async () => {
  const launched = launch(['--nproc', '2', '--grace-period', '1', temporaryScript('train.mjs', deaf)]);
  const pids = (await launched.marked('READY', 2)).map(([pid]) => Number(pid));
  const signalledAt = performance.now();
  process.kill(launched.pid, 'SIGTERM');
  const { code, stderr } = await launched.ended;
  expect(performance.now() - signalledAt).toBeGreaterThan(990);
  expect(code).toBe(143);
  expect(stderr).toBe(
    'ringrun: ended by SIGTERM; 2 of 2 workers did not end within the grace period and were killed\n',
  );
  expect(pids.filter(isRunning)).toEqual([]);
});

test('a second Ctrl-C does not wait for the grace period of RINGRUN_GRACE', async () => {
  const launched = launch(['--nproc', '2', temporaryScript('train.mjs', deaf)], {
    env: { RINGRUN_GRACE: '1000' },
  });
  await launched.marked('READY', 2);
  // Repeated until it counts as the second one: the launcher counts two within 500 ms as one.
  const pressing = setInterval(() => process.kill(launched.pid, 'SIGINT'), 100);
  const { code } = await launched.ended.finally(() => {
    clearInterval(pressing);
  });
  expect(code).toBe(130);
  expect(launched.output().match(/^HEARD SIGINT$/gm)).toHaveLength(2);
});

/** False if a process has ended, and was waited for. */
const exists = (pid: number) => existsSync(`/proc/${pid}`);

/** Whether SIGHUP, the lowest bit of the mask, is pending. */
function isPending(pid: number): boolean {
  return exists(pid) && /^ShdPnd:\s*[\da-f]*[13579bdf]$/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

const nohup = ['bash', '-c', 'nohup "$@" & wait $!', 'bash'];
const scriptUnderNohup = ['sh', '-c', 'trap "" HUP; "$@"; exit $?', 'sh'];

test.each<[how: string, before: string[], stdin: string, endedBy: string]>([
  ['the shell sets _ to nohup', nohup, 'r', 'SIGTERM'],
  ['the parent ignores it', scriptUnderNohup, 'r', 'SIGTERM'],
  ['nohup replaced the terminal', [], 'w', 'SIGTERM'],
  ['no trace of nohup', [], 'r', 'SIGHUP'],
])('SIGHUP and then SIGTERM: %s', async (_, before, stdin, endedBy) => {
  const script = `
    console.log('READY', process.ppid);
    process.on('SIGTERM', () => process.exit(0));
    setInterval(() => {}, 1e6);`;
  const nullDevice = openSync('/dev/null', stdin);
  const argv = [...before, process.execPath, command, temporaryScript('train.mjs', script)];
  const child = spawn(argv[0], argv.slice(1), {
    stdio: [nullDevice, 'pipe', 'pipe'],
    env: { ...process.env, _: undefined },
  }) as ChildProcessByStdio<null, Readable, Readable>;
  closeSync(nullDevice);
  const ended = once(child, 'close');
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [ready] = (await once(child.stdout, 'data')) as [Buffer];
  const launcher = Number(/^READY (\d+)$/m.exec(ready.toString())![1]);
  process.kill(launcher, 'SIGHUP');
  // The kernel may handle two pending signals in any order.
  while (isPending(launcher)) await new Promise(setImmediate);
  // SIGHUP may have ended it.
  if (exists(launcher)) process.kill(launcher, 'SIGTERM');
  await ended;
  expect(stderr).toContain(`ringrun: ended by ${endedBy}; all workers ended\n`);
});
