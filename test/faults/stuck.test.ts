// What a job prints that is stuck, word for word.
import { execFileSync } from 'node:child_process';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { launch, node } from '../support/command.ts';
import type { Command } from '../support/command.ts';
import { pidOfRank } from '../support/pid-of-rank.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const script = builtScript('stuck.script');
const operation = 'allReduce #2 (float32, 1,000 elements, SUM)';
const limitMs = 1500;

/** The text with names for what differs between runs. */
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

const inShort = [
  { absence: 'computes', transport: 'tcp' },
  { absence: 'stops', transport: 'shm' },
] as const;
const inFull = ['tcp', 'shm'].flatMap((transport) =>
  (Object.keys(absences) as (keyof typeof absences)[]).map((absence) => ({ absence, transport })),
);

test.each(isFull ? inFull : inShort)(
  'the report of a timeout over $transport says where every rank is if one $absence',
  async ({ absence, transport }) => {
    const pipe = join(temporaryFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const does = absence === 'stops' ? 'sleeps' : absence;
    const command = launch(['--nproc', '3', script, does, String(limitMs), pipe], {
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

test('ringrun stacks prints where the ranks of a running job are, by its launcher, a worker or a run id', async () => {
  const command = launch(['--nproc', '3', '--rdzv-id', 'a-job', script, 'computes', '1000000'], {
    env: { RINGRUN_WAIT_REPORT_S: 0.1 },
  });
  // Rank 0 and rank 1 wait in the operation.
  await command.sees(/waiting in allReduce #2/);
  const one = await node(['launch', 'stacks', String(pidOfRank(command, 2))]).ended;
  expect(one.stdout).toContain(`rank 2 (pid ${pidOfRank(command, 2)}) runs JavaScript\n    at `);
  expect(one.stdout).not.toContain('rank 1');
  for (const target of [String(command.pid), 'a-job']) {
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

test('ranks in different collectives see both sides at once', async () => {
  const command = launch(['--nproc', '3', script, 'broadcasts', '1000000']);
  const { stderr, code } = await command.ended;
  expect(code).toBe(1);
  expect(normalised(stderr, command)).toContain(
    `CollectiveMismatchError: the ranks called different operations. rank 0 (host HOST, pid N), rank 1 (host HOST, pid N): ${operation}; ` +
      'rank 2 (host HOST, pid N): broadcast #2 (float32, 1,000 elements, from rank 0). Call the same operations in the same order on every rank, ' +
      'with the same dtypes, lengths and options. No data was changed',
  );
});
