import { expect, test } from 'vitest';
import { launch, temporaryScript } from '../support/launched.ts';

/** A script that fails in the first `failures` attempts, each time with another message. */
const failing = (failures: number) =>
  temporaryScript(
    'failing.mjs',
    `const count = Number(process.env.RINGRUN_RESTART_COUNT);
    console.log('ATTEMPT', count, process.env.RINGRUN_MAX_RESTARTS, process.env.RANK);
    if (count < ${failures} && process.env.RANK === '1') throw new Error('failure ' + count);
    if (count < ${failures}) setInterval(() => {}, 1000);`,
  );

/** Lines of the rank that fails: the other rank may be stopped before it prints any. */
const attemptsIn = (stdout: string) => stdout.match(/^ATTEMPT \d \d 1$/gm);

test('restarts all workers up to --max-restarts times, each time with a new count', async () => {
  const env = { RINGRUN_RESTART_BACKOFF: '0.2' };
  const { code, stdout, stderr } = await launch(['--nproc', '2', '--max-restarts', '2', failing(2)], { env })
    .ended;
  expect(code).toBe(0);
  expect(attemptsIn(stdout)).toEqual(['ATTEMPT 0 2 1', 'ATTEMPT 1 2 1', 'ATTEMPT 2 2 1']);
  expect(stdout).toContain('ATTEMPT 2 2 0');
  expect(stderr).toMatch(
    /root cause: rank 1 .*failure 0\n.*restarting the workers: restart 1 of 2\n[^]*root cause: rank 1 .*failure 1\n.*restarting the workers: restart 2 of 2 in 0\.2 s, because 2 starts in a row failed within 60 s\n/,
  );
});

test('after the last restart, exits with the exit code of the last failure', async () => {
  const script = temporaryScript(
    'exits.mjs',
    `process.exit(30 + Number(process.env.RINGRUN_RESTART_COUNT));`,
  );
  const { code, stderr } = await launch(['--max-restarts', '1', script]).ended;
  expect(code).toBe(31);
  expect(stderr).toMatch(/restart 1 of 1[^]*no restart: all 1 restarts are used\n[^]*exit code 31/);
});

test('does not restart after the same start-up failure twice', async () => {
  const script = temporaryScript('throws.mjs', `throw new Error('no such file');`);
  const { code, stderr } = await launch(['--max-restarts', '9', script]).ended;
  expect(code).toBe(1);
  expect(stderr.match(/root cause: .*no such file/g)).toHaveLength(2);
  expect(stderr).toMatch(/no restart: the start failed twice in the same way/);
});
