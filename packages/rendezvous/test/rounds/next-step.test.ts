import { describe, expect, test } from 'vitest';
import { nextStep } from '../../src/rounds/next-step.ts';
import { newNodeState, onState } from '../../src/rounds/node-state.ts';
import type { NodeState } from '../../src/rounds/node-state.ts';
import type { JobTerms, NodeInfo, RendezvousState } from '../../src/rounds/rendezvous-state.ts';
import { defaultRestartBackoff } from '../../src/rounds/restart-backoff.ts';

const timing = {
  joinTimeoutMs: 600_000,
  lastCallMs: 30_000,
  keepAliveIntervalMs: 5000,
  keepAliveMaxAttempts: 3,
  backoff: defaultRestartBackoff,
};

const elastic: JobTerms = { id: 'none', backend: 'c10d', min: 2, max: 4, maxRestarts: 0 };
const fixed: JobTerms = { ...elastic, backend: 'static', max: 2 };

function nodeInfo(host: string, nodeRank?: number): NodeInfo {
  const rest = { pid: 1, address: '10.0.0.1', processesPerNode: 2, machine: host, hostsStore: false };
  return { id: host, host, nodeRank, ...rest };
}

/** A node started at time 0. */
function node(host: string, terms: JobTerms, nodeRank?: number): NodeState {
  return newNodeState({ node: nodeInfo(host, nodeRank), terms, timing, freshName: host, runId: 'run' }, 0);
}

const at = (now: number) => ({ now, wall: now });

/** The state after these nodes have joined one after the other at time 0. Throws if a step is not a write. */
function gathered(nodes: readonly NodeState[]): RendezvousState {
  return nodes.reduce<RendezvousState | undefined>(
    (state, nodeState) => written(nextStep(state, nodeState, at(0))),
    undefined,
  )!;
}

function written(step: ReturnType<typeof nextStep>): RendezvousState {
  if (step.kind !== 'write') throw new Error(JSON.stringify(step));
  return step.state;
}

describe('gathering', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((host) => node(host, elastic));

  test('names the nodes that have joined while too few have', () => {
    const state = gathered([a]);
    const reason = '1 more node; joined: node a (pid 1)';
    expect(nextStep(state, onState(a, undefined, state, 0), at(599_999))).toEqual({ kind: 'wait', reason });
  });

  test('ends after the join timeout and removes itself', () => {
    const state = gathered([a]);
    const step = nextStep(state, onState(a, undefined, state, 0), at(600_000));
    const why = 'waited 600 s for 1 more node; joined: node a (pid 1)';
    expect(step).toMatchObject({
      kind: 'write',
      state: { participants: [] },
      end: { kind: 'timed out', why },
    });
  });

  test('waits for the last call, counted from the time when enough nodes had joined', () => {
    const state = gathered([a, b]);
    const b1 = onState(b, undefined, state, 1000);
    const reason = 'more nodes: 2 of 2:4 have joined, and the last call ends in 1 s';
    expect(nextStep(state, b1, at(30_000))).toEqual({ kind: 'wait', reason });
    expect(written(nextStep(state, b1, at(31_000)))).toMatchObject({ phase: 'running', round: 1 });
  });

  test('a last call shorter than a lease ends the first round in time', () => {
    const short = { ...timing, lastCallMs: 2000 };
    const [first, second] = ['a', 'b'].map((host) => ({ ...node(host, elastic), timing: short }));
    const state = gathered([first, second]);
    const waiting = onState(second, undefined, state, 1000);
    expect(nextStep(state, waiting, at(2999))).toMatchObject({ kind: 'wait' });
    expect(written(nextStep(state, waiting, at(3000)))).toMatchObject({ phase: 'running', round: 1 });
  });

  test('assigns ranks by name as soon as all nodes have joined', () => {
    const nodes = ['w-10', 'w-9', 'w-2', 'w-1'].map((host) => node(host, elastic));
    const state = gathered(nodes);
    const { participants } = written(nextStep(state, onState(nodes[0], undefined, state, 0), at(0)));
    expect(participants.map((other) => other.node.host)).toEqual(['w-1', 'w-2', 'w-9', 'w-10']);
  });

  test('waits before a delayed restart, counted from the end of the last round', () => {
    const state = { ...gathered([a, b]), sameNodes: true, delayMs: 4000, quickFailures: 4 };
    const b1 = { ...onState(b, undefined, state, 1000), joiningSince: 1000 };
    const reason = 'the restart in 1 s, after 4 starts in a row that failed soon';
    expect(nextStep(state, b1, at(4500))).toEqual({ kind: 'wait', reason });
    expect(written(nextStep(state, b1, at(5000)))).toMatchObject({ phase: 'running' });
  });

  test('accepts at most max nodes', () => {
    const state = gathered([a, b, c, node('d', elastic)]);
    const spare = node('e', elastic);
    const waiting = written(nextStep(state, spare, at(0)));
    expect(waiting).toMatchObject({ participants: { length: 4 }, waitList: [{ id: 'e' }] });
    expect(nextStep(waiting, onState(spare, undefined, waiting, 0), at(0))).toEqual({
      kind: 'wait',
      reason: 'a free slot: 4 of at most 4 nodes have joined',
    });
  });
});

describe('static', () => {
  test('names the missing node ranks', () => {
    const [first] = [node('a', { ...fixed, min: 3, max: 3 }, 1)];
    const state = gathered([first]);
    const reason = '2 more nodes with --node-rank 0, 2; joined: node 1 (a, pid 1)';
    expect(nextStep(state, onState(first, undefined, state, 0), at(0))).toEqual({ kind: 'wait', reason });
  });

  test('nodes keep their --node-rank in any order of arrival', () => {
    const [second, first] = [node('a', fixed, 1), node('b', fixed, 0)];
    const state = gathered([second, first]);
    const { participants } = written(nextStep(state, onState(first, undefined, state, 0), at(0)));
    expect(participants.map((other) => other.node.nodeRank)).toEqual([0, 1]);
  });
});

describe('a lease', () => {
  const workers = {
    kind: 'running',
    incarnation: 'a',
    round: 1,
    failing: false,
    lostLease: undefined,
  } as const;
  const alone = { ...elastic, min: 1, max: 1 };
  const begun = gathered([node('a', alone)]);
  const running: RendezvousState = {
    ...begun,
    phase: 'running',
    master: { address: '10.0.0.1', port: 1 },
  };

  test('stops the workers after three quarters of its length', () => {
    const nodeState = { ...onState(node('a', alone), undefined, running, 0), workers };
    expect(nextStep(running, nodeState, at(11_249)).kind).toBe('wait');
    expect(nextStep(running, nodeState, at(11_250))).toEqual({
      kind: 'stop',
      because: 'cut off',
      cutOff: true,
    });
  });

  test('does not start workers after that time', () => {
    const nodeState = onState(node('a', alone), undefined, running, 0);
    expect(nextStep(running, nodeState, at(11_249)).kind).toBe('start');
    expect(nextStep(running, nodeState, at(11_250))).toEqual({
      kind: 'wait',
      reason: "the store to confirm this node's heartbeat",
    });
  });
});
