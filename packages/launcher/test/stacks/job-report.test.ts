import { hostname } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Round } from '../../../rendezvous/src/rounds/round.ts';
import { answerStackRequests } from '../../src/stacks/answer-requests.ts';
import { describeNode, encodeStates, parseName, parseStates } from '../../src/stacks/node-states.ts';
import type { RankState } from '../../src/stacks/rank-state.ts';
import { reportOfJob } from '../../src/stacks/stack-requests.ts';
import { StoreServer, connectStore } from '../../../rendezvous/src/index.ts';
import { temporaryFolder } from '../support/launched.ts';

const state = (rank: number, frames: number): RankState => ({
  rank,
  pid: 100 + rank,
  activity: 'runs',
  operations: [],
  stack: Array.from({ length: frames }, (_, i) => `at step${i} (${'x'.repeat(250)})`),
  runId: 'run',
});

test('all nodes receive and print one report, and the answers are deleted', async () => {
  const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  const { hostname: host, port } = new URL(server.endpoint);
  const store = await connectStore({ host, port: Number(port), log: () => undefined });
  const round: Round = {
    runId: 'run',
    restartCount: 3,
    groupRank: 1,
    groupWorldSize: 3,
    processesPerNode: [1, 2, 2],
    masterAddress: '127.0.0.1',
    masterPort: 1,
    storeEndpoint: server.endpoint,
  };
  const over = new AbortController();
  onTestFinished(async () => {
    over.abort();
    await store.close();
    await server.close();
  });
  const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => {
    printed.mockRestore();
  });
  const stackKeys = 'restart/3/stacks';
  void answerStackRequests(() => store, round, temporaryFolder(), over.signal);

  let composed = 0;
  const ask = (groupRank: number, own: Promise<RankState[]>) =>
    reportOfJob(
      { store: server.endpoint, restartCount: 3, groupRank, nodes: 2 },
      '0123456789abcdef',
      own,
      (nodes) => {
        composed += 1;
        return nodes.map((node) => describeNode(node, [{ host: hostname(), pid: 100 }])).join('');
      },
      store,
    );
  let answer!: (own: RankState[]) => void;
  const first = ask(0, new Promise((resolve) => (answer = resolve)));
  await store.wait([`${stackKeys}/request/0`]);
  const second = ask(2, Promise.resolve([]));
  answer([state(0, 0)]);
  const [one, other] = await Promise.all([first, second]);
  expect(other).toBe(one);
  expect(composed).toBe(1);
  expect(one).toContain('(pid 100, missing) runs JavaScript\n');
  expect(one).toContain(
    `No rank on node 1 (host ${hostname()}) answers: the launcher has not started a script.\n`,
  );
  await vi.waitFor(() => {
    expect(printed.mock.calls.flat()).toEqual([one]);
  });
  await expect(store.check([`${stackKeys}/answer/0/1`])).resolves.toBe(false);
});

test('an answer has at most 4 KiB of a rank and 64 KiB of a node', () => {
  const long = encodeStates([state(0, 30)]);
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(4096 + 2);
  const [short] = parseStates(Buffer.from(long))!;
  expect(short.stack[0]).toBe(state(0, 1).stack[0]);
  expect(short.stack.length).toBeGreaterThan(10);
  expect(short.stack.at(-1)).toBe('…');
  const many = encodeStates(Array.from({ length: 100 }, (_, rank) => state(rank, 30)));
  expect(Buffer.byteLength(many)).toBeLessThanOrEqual(64 * 1024);
  expect(parseStates(Buffer.from(many))).toHaveLength(100);
});

test('text of another node cannot control the terminal, and invalid answers are ignored', () => {
  const hostile = { ...state(1, 0), operations: ['\u001B[2J'], stack: ['at \u202Ea\nb'] };
  const states = parseStates(Buffer.from(JSON.stringify([hostile, { rank: 'x' }, null])));
  const name = parseName(Buffer.from('{"host":"a\\u001b[2J","launcherPid":1,"firstRank":0,"ranks":2}'));
  expect(describeNode({ groupRank: 1, name, states }, [])).toBe(
    'The ranks on node 1 (host a\\x1b[2J):\n' +
      '  rank 1 (pid 101) runs JavaScript; waits in \\x1b[2J\n    at \\u{202e}a\\nb\n',
  );
  for (const answer of ['', '{}', 'null', '7', `["${'x'.repeat(70_000)}"]`])
    expect(parseStates(Buffer.from(answer))).toBeUndefined();
  expect(parseName(Buffer.from('{"host":1}'))).toBeUndefined();
  expect(describeNode({ groupRank: 1, name: undefined, states: undefined }, [])).toBe(
    'Node 1 does not answer: its launcher is stopped or does not reach the store.\n',
  );
});
