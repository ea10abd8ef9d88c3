import { expect, test } from 'vitest';
import { ways } from '../../../../test/support/extent.ts';
import { isRunning, launch, temporaryScript } from './fixtures/launched.ts';

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
)(
  '%s reaches the workers and what they started, and the exit code is %d',
  async (signal, exitCode, ...args) => {
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
  },
);

const deaf = `
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => { console.log('HEARD', signal); });
  console.log('READY', process.pid);
  setInterval(() => {}, 1e6);`;

test('after the grace period what is left is killed', async () => {
  const launched = launch(['--nproc', '2', '--grace-period', '1', temporaryScript('train.mjs', deaf)]);
  const pids = (await launched.marked('READY', 2)).map(([pid]) => Number(pid));
  const told = performance.now();
  process.kill(launched.pid, 'SIGTERM');
  const { code, stderr } = await launched.ended;
  expect(performance.now() - told).toBeGreaterThan(990);
  expect(code).toBe(143);
  expect(stderr).toBe('ringrun: ended by SIGTERM; 2 of 2 workers did not end in time and were killed\n');
  expect(pids.filter(isRunning)).toEqual([]);
});

test('a second Ctrl-C does not wait for the grace period, which RINGRUN_GRACE sets', async () => {
  const launched = launch(['--nproc', '2', temporaryScript('train.mjs', deaf)], {
    env: { RINGRUN_GRACE: '1000' },
  });
  await launched.marked('READY', 2);
  // Pressed until it is heard as a second one: the launcher takes two within half a second for one.
  const pressing = setInterval(() => process.kill(launched.pid, 'SIGINT'), 100);
  const { code } = await launched.ended.finally(() => {
    clearInterval(pressing);
  });
  expect(code).toBe(130);
  expect(launched.output().match(/^HEARD SIGINT$/gm)).toHaveLength(2);
});
