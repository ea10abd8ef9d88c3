import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch, node } from './support/command.ts';
import type { CommandOptions } from './support/command.ts';
import { freePort } from './support/free-port.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';

const script = builtScript('fixtures/join');

test('an environment in which WORLD_SIZE contradicts the nodes is refused at once', async () => {
  const env: CommandOptions['env'] = {
    PET_NNODES: 2,
    PET_NPROC_PER_NODE: 2,
    PET_NODE_RANK: 1,
    RANK: 1,
    WORLD_SIZE: 3,
  };
  const { code, stdout, stderr } = await launch([script], { env, limitMs: 20_000 }).ended;
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('WORLD_SIZE is 3, but PET_NNODES (2) × PET_NPROC_PER_NODE (2) is 4');
});

test('RANK is read as the node rank if a node has two processes, with one warning', async () => {
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
    expect(stderr.split(`RANK=${rank} is the rank of this node (${rank} of 2).`)).toHaveLength(2);
  }
});

test('node train.js without the expected launcher fails with the command to run', async () => {
  const env = { PET_NNODES: 2, PET_NPROC_PER_NODE: 1, PET_NODE_RANK: 1, PET_MASTER_ADDR: 'job-node-0-0.job' };
  const { code, stdout, stderr } = await node([script], { env, limitMs: 20_000 }).ended;
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(
    'PET_NNODES is 2, but RANK and WORLD_SIZE are not set, so each node would train alone',
  );
  expect(stderr).toContain('Start the script with `ringrun train.js` instead of `node train.js`');
});

const problem = hostsProblem();

describe.skipIf(problem)(`nodes on separate hosts${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('a second node of rank 0 is refused on both hosts, which name each other', async () => {
    using network = connectHosts(2);
    const master = network.hosts[0].address;
    const args = ['launch', '--nnodes', '2', '--node-rank', '0', '--master-addr', master, script];
    const first = network.hosts[0].node(args);
    await first.sees(/waiting for 1 more node with --node-rank 1/);
    const { code, stderr } = await network.hosts[1].node(args).ended;
    const why = /node 0 \(host1, pid \d+\) cannot join: node 0 \(host0, pid \d+\) already has --node-rank 0/;
    expect(code).toBe(1);
    expect(stderr).toMatch(why);
    await first.sees(why);
  });
});
