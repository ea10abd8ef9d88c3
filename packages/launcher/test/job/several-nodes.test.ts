import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Store } from '@ringrun/core';
import { freePort } from '../../../../test/support/free-port.ts';
import { Coordinator } from '../../../rendezvous/src/rounds/coordinator.ts';
import { newNodeState } from '../../../rendezvous/src/rounds/node-state.ts';
import { RendezvousClient } from '../../../rendezvous/src/rounds/rendezvous-client.ts';
import type { RendezvousState } from '../../../rendezvous/src/rounds/rendezvous-state.ts';
import { StoreServer, connectStore } from '../../../rendezvous/src/index.ts';
import { ways } from '../../../../test/support/extent.ts';
import { launch, temporaryFolder, temporaryScript, untilGone } from '../support/launched.ts';
import type { Launched } from '../support/launched.ts';

/** Launchers of several nodes on this machine, with the real store. */

const patience = 'keep_alive_interval=0.5,keep_alive_max_attempt=4,last_call_timeout=1';

/** A worker that prints its ranks and runs until it is stopped. */
const worker = temporaryScriptText(`
  const { RANK, WORLD_SIZE, RINGRUN_RESTART_COUNT, GROUP_RANK } = process.env;
  console.log('WORKS', RANK, WORLD_SIZE, RINGRUN_RESTART_COUNT, process.pid, GROUP_RANK);
  setInterval(() => {}, 1000);`);

function temporaryScriptText(source: string): () => string {
  return () => temporaryScript('worker.mjs', source);
}

/** State of a finished job without nodes. */
const finished: RendezvousState = {
  version: 7,
  incarnation: 'a',
  runId: 'run',
  terms: { id: 'none', backend: 'static', min: 2, max: 2, maxRestarts: 0 },
  round: 1,
  highestRound: 1,
  phase: 'closed',
  participants: [],
  waitList: [],
  sameNodes: false,
  master: undefined,
  because: undefined,
  rootCause: undefined,
  mayStillRun: [],
  roundsBegun: 1,
  restartsUsed: 0,
  lastStartUpFailure: undefined,
  quickFailures: 0,
  delayMs: 0,
  verdict: { kind: 'finished' },
  refused: [],
  events: [],
};

interface AgentOptions {
  port: number;
  nodes: string;
  script: string;
  args?: readonly string[];
  nodeRank?: number;
  more?: readonly string[];
  env?: NodeJS.ProcessEnv;
}

function agent({ port, nodes, script, args = [], nodeRank, more = [], env = {} }: AgentOptions): Launched {
  const where =
    nodeRank === undefined
      ? ['--rdzv-backend', 'c10d', '--rdzv-endpoint', `localhost:${port}`]
      : ['--node-rank', String(nodeRank), '--master-addr', '127.0.0.1', '--master-port', String(port)];
  return launch(['--nnodes', nodes, ...where, '--rdzv-conf', patience, ...more, script, ...args], { env });
}

/** Resolves with the values in line number `count` of the lines that start with WORKS. */
async function works(launched: Launched, count: number) {
  const lines = await launched.marked('WORKS', count);
  const [rank, worldSize, restartCount, pid, groupRank] = lines[count - 1].map(Number);
  return { rank, worldSize, restartCount, pid, groupRank };
}

async function sees(launched: Launched, pattern: RegExp): Promise<void> {
  await expect.poll(() => launched.output(), { timeout: 20_000, interval: 20 }).toMatch(pattern);
}

/** Answers the first message of another node, as the leader of a job with this state. Returns the new state. */
async function lead(store: Store, state: RendezvousState): Promise<RendezvousState> {
  const endpoint = { host: '127.0.0.1', port: 1 };
  const connect = () => Promise.resolve(store);
  const client = await RendezvousClient.open({ endpoint, localEndpoint: endpoint, isServer: true, connect });
  await store.wait(['rendezvous/inbox/0/1']);
  const [facts] = await client.readMessages([1]);
  const { node, terms, timing, runId } = facts!;
  const leader = { ...node, id: 'leader' };
  const coordinator = new Coordinator();
  const own = newNodeState({ node: leader, terms, timing, runId, freshName: 'a' }, 0);
  const next = coordinator.take(state, facts!, own, { now: 0, wall: 0 });
  await client.writeParts(coordinator.deliveries(next, leader.id));
  return next;
}

test('a node cannot join a finished job', async () => {
  const store = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  const client = await connectStore({ host: '127.0.0.1', port: store.port });
  onTestFinished(async () => {
    await client.close();
    await store.close();
  });
  const job = { port: store.port, nodes: '2', script: worker(), nodeRank: 1 };
  const { ended } = agent(job);
  const { events } = await lead(client, finished);
  const { code, stderr } = await ended;
  const why = /node 1 \(.*\) cannot join: the job has finished\. Start a new job/;
  expect(code).toBe(1);
  expect(stderr).toMatch(why);
  expect(events.at(-1)!.what).toMatch(why);
});

test('escape sequences in the host name and id of another node never reach the terminal', async () => {
  const port = await freePort();
  const store = await StoreServer.bind({ host: '127.0.0.1', port });
  const client = await connectStore({ host: '127.0.0.1', port });
  onTestFinished(async () => {
    await client.close();
    await store.close();
  });
  const host = 'node7\x1b[2J\u202e';
  const info = { id: 'x', host, pid: 7, address: '127.0.0.1', processesPerNode: 1, nodeRank: 0 };
  const node0 = { ...info, machine: 'm', hostsStore: true };
  const participant = { node: node0, previousRank: undefined, formerly: [] };
  const joining = {
    ...finished,
    phase: 'joining' as const,
    verdict: undefined,
    participants: [{ ...participant, report: undefined, gone: undefined }],
  };
  const node = agent({ port, nodes: '3', script: worker(), nodeRank: 1, more: ['--local-addr', '10.0.0.1'] });
  // As a hostile program could write it.
  await lead(client, { ...joining, terms: { ...joining.terms, max: 3, min: 3 } });
  await sees(node, /waiting for 1 more node|cannot join/);
  expect(node.output()).toContain('node 0 (node7\\x1b[2J\\u{202e}, pid 7)');
  expect(node.output().replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

describe('static', () => {
  test('a second node with the same rank is refused by name on both nodes; the others continue', async () => {
    const [port, script] = [await freePort(), worker()];
    const job = { port, nodes: '2', script };
    const [first, second] = [agent({ ...job, nodeRank: 0 }), agent({ ...job, nodeRank: 1 })];
    await Promise.all([works(first, 1), works(second, 1)]);
    const rival = agent({ ...job, nodeRank: 1 });
    await sees(first, /waits for the next round/);
    const cameAt = performance.now();
    const { code, stderr } = await rival.ended;
    const why =
      /node 1 \(.*pid \d+\) cannot join: node 1 \(.*, pid \d+\) already has --node-rank 1\. Give each node its own rank, from 0 to 1/;
    expect(code).toBe(1);
    expect(stderr).toMatch(why);
    await sees(first, why);
    expect(performance.now() - cameAt).toBeLessThan(5000);
    expect(first.output()).not.toMatch(/round 2/);
    expect(second.output()).not.toMatch(/round 2/);
  });

  test.each(
    ways(
      [
        {
          option: ['--rdzv-id', 'other'],
          why: /its --rdzv-id is "other", but the job at this endpoint has "none"/,
        },
      ],
      [
        { option: ['--rdzv-backend', 'c10d'], why: /its --rdzv-backend is c10d, but the job has static/ },
        { option: ['--nnodes', '3'], why: /its --nnodes is 3, but the job has 2/ },
      ],
    ),
  )('a node with $option is refused by name on both nodes', async ({ option, why }) => {
    const [port, script] = [await freePort(), worker()];
    const first = agent({ port, nodes: '2', script, nodeRank: 0 });
    await sees(first, /waiting for 1 more node with --node-rank 1; joined: node 0/);
    const { code, stderr } = await agent({ port, nodes: '2', script, nodeRank: 1, more: option }).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(why);
    await sees(first, why);
    expect(first.output()).not.toMatch(/round 1 starts/);
  });

  test('every node prints the root cause and exits with its code, without a restart', async () => {
    const script = temporaryScript(
      'fails.mjs',
      `console.log('WORKS', process.env.RANK);
      if (process.env.RANK === '2') process.exit(42);
      setInterval(() => {}, 1000);`,
    );
    const terminationLog = join(temporaryFolder(), 'termination-log');
    writeFileSync(terminationLog, '');
    const job = { port: await freePort(), nodes: '2', script, more: ['--nproc', '2'] };
    const second = agent({ ...job, nodeRank: 1, env: { RINGRUN_TERMINATION_LOG: terminationLog } });
    const ends = await Promise.all([agent({ ...job, nodeRank: 0 }).ended, second.ended]);
    const left = readFileSync(terminationLog, 'utf8');
    expect(left).toMatch(/^ringrun: events of the job:\n/);
    expect(ends[1].stderr.endsWith(left)).toBe(true);
    for (const { code, stderr } of ends) {
      expect(code).toBe(42);
      expect(stderr).toMatch(
        /events of the job:[^]*round 1 starts with 2 nodes[^]*the job failed: --max-restarts is 0/,
      );
      expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
        /^ringrun: root cause: rank 2 on host .*: exit code 42/,
      );
    }
  });

  test('does not restart after the same start-up failure twice', async () => {
    const script = temporaryScript('fails.mjs', `throw new Error('no such setting');`);
    const job = { port: await freePort(), nodes: '2', script, more: ['--max-restarts', '5'] };
    const ends = await Promise.all([0, 1].map((nodeRank) => agent({ ...job, nodeRank }).ended));
    for (const { code, stderr } of ends) {
      expect(code).toBe(1);
      expect(stderr).toMatch(/restart 1 of 5/);
      expect(stderr).toMatch(/the job failed: the start failed twice in the same way/);
      expect(stderr).not.toMatch(/restart 2 of 5/);
      expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
        /^ringrun: root cause: rank \d .*Error: no such setting/,
      );
    }
  });
});

describe('static, without restarts', () => {
  const nodeNames = (rank: number) => String.raw`node ${rank} \(${hostname()}, pid \d+\)`;

  /** Two launchers whose workers run, and the pids of the workers. */
  async function pair(programs: readonly (readonly string[])[] = [[worker()], [worker()]]) {
    const port = await freePort();
    const nodes = programs.map(([script, ...args], nodeRank) =>
      agent({ port, nodes: '2', nodeRank, script, args }),
    );
    const ranks = await Promise.all(nodes.map((node) => works(node, 1)));
    return { nodes, pids: ranks.map(({ pid }) => pid) };
  }

  const noHeartbeat = 'died: no heartbeat for 2 s, its launcher stopped renewing the lease$';
  const noStore = 'which serves the store, has not answered for 2 s: its launcher has ended';

  test.each(
    ways<{ what: string; lost: 0 | 1; signal: NodeJS.Signals; why: string }>(
      [
        { what: 'node 1 is killed', lost: 1, signal: 'SIGKILL', why: noHeartbeat },
        { what: 'node 0 is stopped', lost: 0, signal: 'SIGSTOP', why: noStore },
      ],
      [{ what: 'node 0 is killed', lost: 0, signal: 'SIGKILL', why: noStore }],
    ),
  )('if the launcher of $what, the other ends with its lease and names it', async ({ lost, signal, why }) => {
    const { nodes, pids } = await pair();
    process.kill(nodes[lost].pid, signal);
    // The join timeout is 10 minutes.
    const { code, stderr } = await nodes[1 - lost].ended;
    expect(code).toBe(1);
    const lastLine = stderr.trimEnd().split('\n').at(-1);
    expect(lastLine).toMatch(new RegExp(`root cause: ${nodeNames(lost)},? ${why}`));
    expect(stderr).not.toMatch(/round 2|waiting for/);
    await untilGone(pids, 5000);
  });

  test.each([
    ['script', undefined],
    ['program', ['--no-node', 'sh', '-c', 'echo WORKS $RANK 2 0 $$ 1; sleep 1000']],
  ])('a %s whose launcher is stopped ends with the lease and reports why', async (_, program) => {
    const { nodes, pids } = await pair([[worker()], program ?? [worker()]]);
    process.kill(nodes[1].pid, 'SIGSTOP');
    await untilGone([pids[1]], 20_000);
    await sees(
      nodes[1],
      new RegExp(
        String.raw`ringrun: rank 1 \(pid ${pids[1]}\) ends because its launcher \(pid ${nodes[1].pid}\) did not renew the lease of this node in time`,
      ),
    );
    const first = await nodes[0].ended;
    expect(first.stderr).toMatch(new RegExp(`root cause: ${nodeNames(1)} died`));
    process.kill(nodes[1].pid, 'SIGCONT');
    const second = await nodes[1].ended;
    expect([first.code, second.code]).toEqual([1, 1]);
  });
});

describe('c10d', () => {
  test('a node leaves on SIGTERM; the others continue with new ranks, and it can join again', async () => {
    const job = { port: await freePort(), nodes: '1:2', script: worker() };
    const first = agent(job);
    await sees(first, /last call ends in|round 1 starts/);
    const second = agent(job);
    const before = await Promise.all([works(first, 1), works(second, 1)]);
    const told = performance.now();
    process.kill(second.pid, 'SIGTERM');
    const { code, stderr } = await second.ended;
    expect(performance.now() - told).toBeLessThan(5000);
    expect(code).toBe(143);
    expect(stderr).toMatch(/ended by SIGTERM/);
    expect(before.map(({ worldSize }) => worldSize)).toContain(2);
    const alone = await sinceWorldSize(first, 1);
    expect(alone).toMatchObject({ rank: 0, worldSize: 1 });
    await sees(first, /round \d ended: node .* left; the nodes changed, which uses no restart/);

    const third = agent(job);
    const [again, came] = await Promise.all([sinceWorldSize(first, 2), sinceWorldSize(third, 2)]);
    expect([again.rank, came.rank]).toEqual([0, 1]);
    expect(again.restartCount).toBe(came.restartCount);
    expect(again.restartCount).toBeGreaterThan(alone.restartCount);
  });

  test('continues with a new round after the node with the store is killed and restarted', async () => {
    const job = { port: await freePort(), nodes: '2', script: worker() };
    const host = agent(job);
    await sees(host, /waiting for 1 more node/);
    const other = agent(job);
    const [there, here] = await Promise.all([works(host, 1), works(other, 1)]);
    expect([there.rank, here.rank].sort()).toEqual([0, 1]);
    process.kill(host.pid, 'SIGKILL');
    await untilGone([there.pid, here.pid], 10_000);
    const replacement = agent(job);
    const [old, fresh] = await Promise.all([works(other, 2), works(replacement, 1)]);
    expect([old.rank, fresh.rank].sort()).toEqual([0, 1]);
    expect(old.restartCount).toBe(fresh.restartCount);
    expect(old.restartCount).toBeGreaterThan(here.restartCount);
  });
});

/** The first worker of a launcher with this `worldSize`, after those of earlier rounds. */
async function sinceWorldSize(launched: Launched, worldSize: number) {
  for (let count = 1; ; count += 1) {
    const one = await works(launched, count);
    if (one.worldSize === worldSize && isLast(launched, count)) return one;
  }
}

function isLast(launched: Launched, count: number): boolean {
  return launched.output().match(/^WORKS /gm)?.length === count;
}
