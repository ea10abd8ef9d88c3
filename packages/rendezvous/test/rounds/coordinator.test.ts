import { expect, test } from 'vitest';
import { Coordinator } from '../../src/rounds/coordinator.ts';
import { newNodeState } from '../../src/rounds/node-state.ts';
import { createState } from '../../src/rounds/phases/create-state.ts';
import type { NodeInfo, RendezvousState } from '../../src/rounds/rendezvous-state.ts';
import { defaultRestartBackoff } from '../../src/rounds/restart-backoff.ts';

const timing = {
  joinTimeoutMs: 600_000,
  lastCallMs: 30_000,
  keepAliveIntervalMs: 5000,
  keepAliveMaxAttempts: 3,
  backoff: defaultRestartBackoff,
};

const nodes = 1000;
const terms = { id: 'none', backend: 'c10d', min: nodes, max: nodes, maxRestarts: 0 } as const;
const clock = { now: 0, wall: 0 };

let reads = 0;

/** A node that counts how often its id is read. */
function countedNode(index: number): NodeInfo {
  const host = `node${index}`;
  const rest = { processesPerNode: 8, nodeRank: undefined, machine: host, hostsStore: index === 0 };
  return {
    ...{ host, pid: 1, address: '10.0.0.1', ...rest },
    get id() {
      reads += 1;
      return host;
    },
  };
}

const stateOf = (node: NodeInfo) =>
  newNodeState({ node, terms, timing, freshName: 'incarnation', runId: 'run' }, 0);

test('a message costs the leader the same in a job of any size', () => {
  const coordinator = new Coordinator();
  const all = Array.from({ length: nodes }, (_, index) => stateOf(countedNode(index)));
  const [own, ...others] = all;
  const first = createState(own, clock) as { state: RendezvousState };
  const take = (state: RendezvousState, change: object) =>
    others.reduce((next, { freshName: _, silent: __, ...facts }) => {
      const message = { ...facts, message: next.round + Number(next.phase === 'running'), serial: 0 };
      const more = { round: 0, hasReadVerdict: false, joiningMs: 0, ...change };
      return coordinator.take(next, { ...message, ...more }, own, clock);
    }, state);
  reads = 0;
  const joined = take(first.state, {});
  expect(joined.phase).toBe('running');
  expect(joined.participants).toHaveLength(nodes);
  // Its own index, and the sort by ranks.
  expect(reads).toBeLessThan(40 * nodes);

  reads = 0;
  const workers = { kind: 'ended', incarnation: joined.incarnation, round: 1, end: 'finished' };
  const ended = take(
    { ...joined, master: { address: '10.0.0.1', port: 1 } },
    {
      ...{ round: 1, hasJoined: true },
      workers: { ...workers, cutOff: false, rootCause: undefined },
    },
  );
  expect(ended.participants.filter(({ report }) => report === 'finished')).toHaveLength(nodes - 1);
  expect(reads).toBeLessThan(20 * nodes);
});
