// The exact output of a stuck job.
import { execFileSync } from 'node:child_process';
import { availableParallelism, hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { freePort } from '../support/free-port.ts';
import { launch, node } from '../support/command.ts';
import type { Command } from '../support/command.ts';
import { pidOfRank } from '../support/pid-of-rank.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const script = builtScript('stuck.script');
const operation = 'allReduce #2 (float32, 1,000 elements, SUM)';
const limitMs = 1500;

/** The text with placeholders for parts that differ between runs. */
function normalised(text: string, command: Command): string {
  return text
    .replaceAll(`pid ${command.pid}`, 'pid of the launcher')
    .replaceAll(/\bpid \d+/g, 'pid N')
    .replaceAll(/-CONT \d+/g, '-CONT N')
    .replaceAll(hostname(), 'HOST')
    .replaceAll(/file:\/\/\S*\/stuck\.script\.js:\d+:\d+/g, 'stuck.script.js:L:C');
}

const waiting = (word: string) => `  rank 0 (pid N) ${word} in ${operation}
    at async trainStep (stuck.script.js:L:C)
    at async stuck.script.js:L:C
  rank 1 (pid N) ${word} in ${operation}
    at trainStep (stuck.script.js:L:C)
    at stuck.script.js:L:C
`;
const missing = (doing: string, ...frames: string[]) =>
  `  rank 2 (pid N, missing) ${doing}\n${frames.map((frame) => `    at ${frame}\n`).join('')}`;

const callers = ['miss (stuck.script.js:L:C)', 'stuck.script.js:L:C'];

const absences = {
  computes: missing(
    'runs JavaScript',
    'Object.computeForever [as computes] (stuck.script.js:L:C)',
    ...callers,
  ),
  sleeps: missing('is idle: its event loop waits'),
  reads: missing('is blocked in native code'),
  receives: missing(
    'waited in recv (float32, 1 elements, from rank 0, tag 9)',
    'Object.receives (stuck.script.js:L:C)',
    ...callers,
  ),
  stops: missing('is stopped by a signal'),
};

const inShort = [{ absence: 'computes', transport: 'shm' }] as const;
const inFull = ['tcp', 'shm'].flatMap((transport) =>
  (Object.keys(absences) as (keyof typeof absences)[]).map((absence) => ({ absence, transport })),
);

test.each(isFull ? inFull : inShort)(
  'a timeout report over $transport shows the state of every rank if one $absence',
  async ({ absence, transport }) => {
    const pipe = join(temporaryFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const does = absence === 'stops' ? 'sleeps' : absence;
    const command = launch(['--nproc', '3', script, `awaits,waits,${does}`, String(limitMs), pipe], {
      env: { RINGRUN_TRANSPORT: transport, RINGRUN_WAIT_REPORT_S: 0 },
    });
    await command.sees(/rank 2 is ready/);
    if (absence === 'stops') process.kill(pidOfRank(command, 2), 'SIGSTOP');
    const { stderr, stdout, code } = await command.ended;
    expect(code).toBe(1);
    const report =
      `ringrun: timeout of ${operation}: missing rank 2 (host HOST, pid N). The ranks on host HOST:\n` +
      waiting('waited') +
      absences[absence];
    expect(normalised(stderr, command)).toContain(report);
    expect(stderr.match(/ringrun: timeout of /g)).toHaveLength(1);
    // The error of each rank has the report too; the launcher may end a rank before it prints.
    expect(stdout).toContain(`got a report of ${report.split('\n').length} lines`);
  },
);

test('the report of a timeout has the stacks of all nodes, and names a node that does not answer', async () => {
  const pipe = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const port = await freePort();
  const nodes = [1, 3, 1].map((count, rank) =>
    launch(
      [
        ...['--nnodes', '3', '--nproc', `${count}`, '--node-rank', `${rank}`],
        ...['--master-addr', '127.0.0.1', '--master-port', `${port}`],
        ...[script, 'awaits,computes,reads,sleeps,sleeps', String(limitMs), pipe],
      ],
      { env: { RINGRUN_TRANSPORT: 'tcp', RINGRUN_WAIT_REPORT_S: 0 } },
    ),
  );
  const [waits, isStuck, isStopped] = nodes;
  await Promise.all([isStuck.sees(/rank 3 is ready/), isStopped.sees(/rank 4 is ready/)]);
  const stopped = [isStopped.pid, pidOfRank(isStuck, 3)];
  for (const pid of stopped) process.kill(pid, 'SIGSTOP');
  const report =
    `ringrun: timeout of ${operation}: missing ${[1, 2, 3, 4].map((rank) => `rank ${rank} (host HOST, pid N)`).join(', ')}. ` +
    `The ranks on node 0 (host HOST):
  rank 0 (pid N) waited in ${operation}
    at async trainStep (stuck.script.js:L:C)
    at async stuck.script.js:L:C
The ranks on node 1 (host HOST):
  rank 1 (pid N, missing) runs JavaScript
    at Object.computeForever [as computes] (stuck.script.js:L:C)
    at miss (stuck.script.js:L:C)
    at stuck.script.js:L:C
  rank 2 (pid N, missing) is blocked in native code
  rank 3 (pid N, missing) is stopped by a signal
Node 2 (host HOST, rank 4) does not answer: its launcher (pid of the launcher) is stopped or does not reach the store. \
Run "ringrun stacks N" on that host.
`;
  await waits.sees(/got a report of/);
  for (const pid of stopped) process.kill(pid, 'SIGCONT');
  for (const node of [waits, isStuck]) {
    const { stderr, code } = await node.ended;
    const text = normalised(stderr, isStopped).replaceAll(`stacks ${isStopped.pid}`, 'stacks N');
    expect(text).toContain(report);
    expect(stderr.match(/ringrun: timeout of /g)).toHaveLength(1);
    expect(code, stderr).toBe(1);
  }
  const { stdout } = await waits.ended;
  expect(stdout).toContain(`got a report of ${report.split('\n').length} lines`);
  expect((await isStopped.ended).left).toEqual([]);
});

// Their helper threads start seconds later. With many CPUs, so many workers would only take long.
const crowd = 4 * availableParallelism() + 1;
test.skipIf(crowd > 20)('a timeout on a crowded host starts the helper threads and has stacks', async () => {
  const does = Array.from({ length: crowd }, (_, rank) => (rank === 1 ? 'sleeps' : 'waits'));
  const pipe = join(temporaryFolder(), 'pipe');
  const command = launch(['--nproc', String(crowd), script, does.join(), '100', pipe], {
    env: { RINGRUN_WAIT_REPORT_S: 0 },
  });
  const { stderr } = await command.ended;
  expect(normalised(stderr, command)).toMatch(
    /: missing rank 1 \(host HOST, pid N\)\. The ranks on host HOST:\n {2}rank \d+ \(pid N\) waited in .*\n {4}at trainStep /,
  );
});

test('without the launcher, a timeout report explains why it has no stacks', async () => {
  const job = { WORLD_SIZE: 2, MASTER_ADDR: '127.0.0.1', MASTER_PORT: await freePort() };
  const [waits, sleeps] = [0, 1].map((rank) =>
    node([script, 'awaits,sleeps', String(limitMs)], { env: { ...job, RANK: rank } }),
  );
  const { stdout } = await waits.ended;
  expect(normalised(stdout, waits)).toContain(
    `rank 0 got a report of 2 lines: ringrun: timeout of ${operation}: missing rank 1 (host HOST, pid N). ` +
      "There are no stacks, because ringrun's launcher did not start this script. Start it with `ringrun` to get the stacks of all ranks.\n",
  );
  process.kill(sleeps.pid, 'SIGKILL');
  await sleeps.ended;
});

test('ringrun stacks finds the ranks of a running job by launcher, worker or run id', async () => {
  // Jobs of a host are found by their run id.
  const runId = `job-of-${process.pid}`;
  const command = launch(['--nproc', '3', '--rdzv-id', runId, script, 'awaits,waits,computes', '1000000'], {
    env: { RINGRUN_WAIT_REPORT_S: 0.1 },
  });
  // Rank 0 and rank 1 wait in the operation.
  await command.sees(/waiting in allReduce #2/);
  const one = await node(['launch', 'stacks', String(pidOfRank(command, 2))]).ended;
  expect(one.stdout).toContain(`rank 2 (pid ${pidOfRank(command, 2)}) runs JavaScript\n    at `);
  expect(one.stdout).not.toContain('rank 1');
  for (const target of [String(command.pid), runId]) {
    const { stdout, stderr } = await node(['launch', 'stacks', target]).ended;
    expect(stderr).toBe('');
    expect(normalised(stdout, command)).toBe(
      `ringrun: the ranks on host HOST:
  rank 0 (pid N) waits in ${operation}
  rank 1 (pid N) waits in ${operation}
    at trainStep (stuck.script.js:L:C)
    at stuck.script.js:L:C
${absences.computes.replace(', missing', '')}`,
    );
  }
  const none = await node(['launch', 'stacks', '1']).ended;
  expect(none).toMatchObject({ code: 1, stdout: '' });
  expect(none.stderr).toMatch(/^ringrun stacks failed: expected a process or a run id of a job/);
});

test('ranks in different collectives throw at once, with both sides', async () => {
  const command = launch(['--nproc', '3', script, 'awaits,waits,broadcasts', '1000000']);
  const { stderr, code } = await command.ended;
  expect(code).toBe(1);
  expect(normalised(stderr, command)).toContain(
    `CollectiveMismatchError: the ranks called different operations. rank 0 (host HOST, pid N), rank 1 (host HOST, pid N): ${operation}; ` +
      'rank 2 (host HOST, pid N): broadcast #2 (float32, 1,000 elements, from rank 0). Call the same operations in the same order on every rank, ' +
      'with the same dtypes, lengths and options. No data was changed',
  );
});
