import { expect, test } from 'vitest';
import { launch } from './support/command.ts';
import type { Command, CommandOptions } from './support/command.ts';
import { freePort } from './support/free-port.ts';

const script = 'test/fixtures/join.js';

/** Longer than it takes, and far below the 10 minutes that a node that is right waits for others. */
const limitMs = 20_000;

/** A job of three nodes, of which two wait for the third. */
async function startTwoOfThree(): Promise<{ waiting: Command[]; meeting: string[] }> {
  const port = String(await freePort());
  const meeting = ['--master-addr', '127.0.0.1', '--master-port', port, '--rdzv-id', 'job-7'];
  const waiting = [0, 1].map((rank) => launch([...nodeOf(3, rank), ...meeting, script]));
  await waiting[0].sees(/waiting for 1 more node with --node-rank 2/);
  return { waiting, meeting };
}

const nodeOf = (nodes: number, rank: number) => ['--nnodes', String(nodes), '--node-rank', String(rank)];

const without = (meeting: readonly string[], option: string) =>
  meeting.filter((_, i) => meeting[i] !== option && meeting[i - 1] !== option);

test.each<[what: string, args: (meeting: string[]) => string[], says: RegExp]>([
  [
    'with a rank that another one has',
    (meeting) => [...nodeOf(3, 1), ...meeting],
    /node 1 \(.*, pid \d+\) cannot join: node 1 \(.*, pid \d+\) has --node-rank 1 already\. Give each node a rank of its own, from 0 to 2/,
  ],
  [
    'with another run id',
    (meeting) => [...nodeOf(3, 2), ...without(meeting, '--rdzv-id'), '--rdzv-id', 'job-8'],
    /node 2 \(.*, pid \d+\) cannot join: its --rdzv-id is "job-8", and the job at this endpoint is "job-7"/,
  ],
  [
    'with another number of nodes',
    (meeting) => [...nodeOf(4, 2), ...meeting],
    /node 2 \(.*, pid \d+\) cannot join: its --nnodes is 4, and that of the job is 3/,
  ],
])(
  'a node %s is refused by name, there and on all others; the job goes on without it',
  async (_, args, says) => {
    const { waiting, meeting } = await startTwoOfThree();
    const wrong = await launch([...args(meeting), script], { limitMs }).ended;
    expect(wrong).toMatchObject({ code: 1, stdout: '', timedOut: false, left: [] });
    expect(wrong.stderr).toMatch(says);

    const right = launch([...nodeOf(3, 2), ...meeting, script]);
    const ends = await Promise.all([...waiting, right].map(({ ended }) => ended));
    expect(ends.map(({ code, stdout }) => [code, stdout])).toEqual(
      [0, 1, 2].map((rank) => [0, `rank ${rank} of 3: sum 6\n`]),
    );
    for (const { stderr } of ends.slice(0, 2)) expect(stderr).toMatch(says);
  },
);

test('an environment in which WORLD_SIZE contradicts the nodes is refused at once', async () => {
  const env: CommandOptions['env'] = {
    PET_NNODES: 2,
    PET_NPROC_PER_NODE: 2,
    PET_NODE_RANK: 1,
    RANK: 1,
    WORLD_SIZE: 3,
  };
  const { code, stdout, stderr } = await launch([script], { env, limitMs }).ended;
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('WORLD_SIZE is 3, but PET_NNODES (2) × PET_NPROC_PER_NODE (2) is 4');
});

test('RANK that is the rank of a node with two processes is taken for that, and said once', async () => {
  const port = await freePort();
  const env = (rank: number) => ({
    RANK: rank,
    WORLD_SIZE: 4,
    MASTER_ADDR: '127.0.0.1',
    MASTER_PORT: port,
    PET_NNODES: 2,
    PET_NPROC_PER_NODE: 2,
  });
  const ends = await Promise.all([0, 1].map((rank) => launch([script], { env: env(rank) }).ended));
  expect(ends.map(({ code }) => code)).toEqual([0, 0]);
  const lines = ends.flatMap(({ stdout }) => stdout.trimEnd().split('\n'));
  expect(lines.sort()).toEqual([0, 1, 2, 3].map((rank) => `rank ${rank} of 4: sum 10`));
  for (const [rank, { stderr }] of ends.entries()) {
    expect(stderr.split(`RANK is ${rank} in the environment: that of this node, ${rank} of 2.`)).toHaveLength(
      2,
    );
  }
});
