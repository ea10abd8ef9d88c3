import { expect, test } from 'vitest';
import { launch, temporaryScript } from './fixtures/launched.ts';

/** Fails in the first `failures` attempts, each time in another way. */
const failing = (failures: number) =>
  temporaryScript(
    'failing.mjs',
    `const count = Number(process.env.RINGRUN_RESTART_COUNT);
    console.log('ATTEMPT', count, process.env.RINGRUN_MAX_RESTARTS, process.env.RANK);
    if (count < ${failures} && process.env.RANK === '1') throw new Error('failure ' + count);
    if (count < ${failures}) setInterval(() => {}, 1000);`,
  );

/** Of the rank that fails: the other may be ended before it says anything. */
const attemptsIn = (stdout: string) => stdout.match(/^ATTEMPT \d \d 1$/gm);

test('all workers of a node are started again when one fails, as often as --max-restarts allows, each time with another count', async () => {
  const { code, stdout, stderr } = await launch(['--nproc', '2', '--max-restarts', '2', failing(2)]).ended;
  expect(code).toBe(0);
  expect(attemptsIn(stdout)).toEqual(['ATTEMPT 0 2 1', 'ATTEMPT 1 2 1', 'ATTEMPT 2 2 1']);
  expect(stdout).toContain('ATTEMPT 2 2 0');
  expect(stderr).toMatch(
    /root cause: rank 1 .*failure 0\n.*started again: restart 1 of 2\n[^]*root cause: rank 1 .*failure 1\n.*started again: restart 2 of 2/,
  );
});

test('when they are used up, the last failure is the end, and its exit code that of the launcher', async () => {
  const script = temporaryScript(
    'exits.mjs',
    `process.exit(30 + Number(process.env.RINGRUN_RESTART_COUNT));`,
  );
  const { code, stderr } = await launch(['--max-restarts', '1', script]).ended;
  expect(code).toBe(31);
  expect(stderr).toMatch(/restart 1 of 1[^]*no restart: all 1 restarts are used up\n[^]*exit code 31/);
});

test('a failure at the start that repeats itself in the same words is not tried again', async () => {
  const script = temporaryScript('throws.mjs', `throw new Error('no such file');`);
  const { code, stderr } = await launch(['--max-restarts', '9', script]).ended;
  expect(code).toBe(1);
  expect(stderr.match(/root cause: .*no such file/g)).toHaveLength(2);
  expect(stderr).toMatch(/no restart: its start failed twice in the same way/);
});
