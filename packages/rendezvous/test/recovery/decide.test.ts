import { expect, test } from 'vitest';
import { decide } from '../../src/recovery/decide.ts';
import type { Decision, Process, Report, Situation } from '../../src/recovery/decide.ts';

function processOf(rank: number, token = `p${rank}`): Process {
  return { token, rank, host: 'h', pid: 100 + rank, space: '' };
}

const three = [0, 1, 2].map((rank) => processOf(rank));

function situation(reports: Record<string, Report>, more: Partial<Situation> = {}): Situation {
  const members = more.members ?? three;
  const dead = new Set(members.map(({ token }) => token).filter((token) => !(token in reports)));
  const nothing = { left: new Map<string, number>(), waiting: [], minRanks: 1 };
  return { members, reports: new Map(Object.entries(reports)), dead, ...nothing, ...more };
}

function step(committed: number, next: Report['next']): Report {
  return { committed, next, isStep: true };
}

function formed(decision: Decision) {
  if (decision.kind !== 'form') throw new Error(JSON.stringify(decision));
  return { ...decision, members: decision.members.map(({ token }) => token) };
}

test('waits for every member that has neither reported, left nor died', () => {
  const decision = decide(situation({ p0: step(3, 'incomplete') }, { dead: new Set(['p2']) }));
  expect(decision).toEqual({ kind: 'wait', missing: [three[1]] });
});

test('a step is repeated if a surviving rank has no result', () => {
  const decision = decide(situation({ p0: step(3, 'complete'), p2: step(3, 'incomplete') }));
  expect(formed(decision)).toMatchObject({ members: ['p0', 'p2'], committed: 3, joining: [] });
});

test('a step is committed if all surviving ranks have its result', () => {
  const decision = decide(situation({ p0: step(3, 'complete'), p2: step(3, 'complete') }));
  expect(formed(decision).committed).toBe(4);
});

test('a step that one rank has committed is committed by the others', () => {
  const decision = decide(situation({ p0: step(4, 'incomplete'), p2: step(3, 'complete') }));
  expect(formed(decision).committed).toBe(4);
});

test('a step that a rank committed before it left is committed', () => {
  const left = new Map([['p1', 4]]);
  const decision = decide(situation({ p0: step(3, 'complete'), p2: step(3, 'complete') }, { left }));
  expect(formed(decision).committed).toBe(4);
});

test('a new process joins before a step, and its source has the state before that step', () => {
  const waiting = [processOf(1, 'new')];
  const decision = decide(situation({ p0: step(3, 'complete'), p2: step(4, 'incomplete') }, { waiting }));
  expect(formed(decision)).toMatchObject({ members: ['p0', 'p2', 'new'], joining: ['new'], source: 'p2' });
});

test('a new process waits while no rank is before a step, and while another process has its rank', () => {
  const reports = { p0: step(3, 'complete'), p2: step(3, 'complete') };
  expect(formed(decide(situation(reports, { waiting: [processOf(1, 'new')] }))).joining).toEqual([]);
  const other: Report = { committed: 3, next: 'incomplete', isStep: false };
  expect(formed(decide(situation({ p0: other }, { waiting: [processOf(1, 'new')] }))).joining).toEqual([]);
  const again = { p0: step(3, 'incomplete'), p2: step(3, 'incomplete') };
  expect(formed(decide(situation(again, { waiting: [processOf(2, 'new')] }))).joining).toEqual([]);
});

test('a process whose source died before it had the state joins again', () => {
  const members = [three[0], processOf(1, 'new'), three[2]];
  const empty: Report = { committed: 0, next: 'empty', isStep: false };
  const reports = { new: empty, p2: step(3, 'incomplete') };
  const decision = formed(decide(situation(reports, { members })));
  expect(decision).toMatchObject({ members: ['p2', 'new'], joining: ['new'], source: 'p2', committed: 3 });
});

test('fails without a rank that has the state, below minRanks, and for ranks at different steps', () => {
  const empty: Report = { committed: 0, next: 'empty', isStep: false };
  expect(decide(situation({ p1: empty }))).toMatchObject({
    reason: 'no surviving rank has the state of the training',
  });
  expect(decide(situation({ p1: step(3, 'incomplete') }, { minRanks: 2 }))).toMatchObject({
    reason: '1 of the ranks are left, expected at least 2 (minRanks)',
  });
  expect(decide(situation({ p0: step(5, 'incomplete'), p1: step(3, 'complete') }))).toMatchObject({
    reason: expect.stringContaining('rank 1 is at transaction 3 and others at 5') as string,
  });
});

/** A process of the simulation: the generation whose result it has committed, for each transaction. */
interface Simulated {
  process: Process;
  history: number[];
  isEmpty: boolean;
}

function randomFrom(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x7fffffff) * below) % below;
  };
}

/** How far a rank is in a transaction when the group fails. */
const stages = ['incomplete', 'complete', 'committed', 'next'] as const;

/** Runs one schedule of deaths and joins. Throws if two processes have committed different results. */
function simulate(seed: number, rule: typeof decide): void {
  const random = randomFrom(seed);
  let count = 2 + random(4);
  let alive = Array.from({ length: count }, (_, rank): Simulated => {
    return { process: processOf(rank), history: [], isEmpty: false };
  });
  for (let generation = 0; generation < 30; generation += 1) {
    const transactions = random(3);
    for (const one of alive)
      if (!one.isEmpty) for (let i = 0; i < transactions; i += 1) one.history.push(generation);
    // No rank commits before all have the result; a joining process takes part only with its state.
    const isEnabled = alive.every(({ isEmpty }) => !isEmpty) && random(2) === 0;
    const reports = new Map<string, Report>();
    for (const one of alive) {
      const { token } = one.process;
      const stage = isEnabled ? stages[1 + random(3)] : stages[random(2)];
      const committed = one.history.length;
      if (one.isEmpty) reports.set(token, { committed: 0, next: 'empty', isStep: false });
      else if (stage === 'incomplete' || stage === 'complete') reports.set(token, step(committed, stage));
      else {
        one.history.push(generation);
        reports.set(token, {
          committed: committed + 1,
          next: stage === 'next' ? 'incomplete' : 'none',
          isStep: true,
        });
      }
    }
    const pending = new Map(alive.map(({ process: { token } }) => [token, generation]));
    const dying = random(alive.length);
    const survivors = alive.filter(
      (_, i) => i !== dying || alive.filter(({ isEmpty }) => !isEmpty).length < 2 || random(4) === 0,
    );
    if (survivors.every(({ isEmpty }) => isEmpty)) return;
    const dead = new Set(alive.filter((one) => !survivors.includes(one)).map(({ process }) => process.token));
    for (const token of dead) reports.delete(token);
    const free = Array.from({ length: 6 }, (_, rank) => rank).filter((rank) =>
      alive.every(({ process }) => process.rank !== rank),
    );
    const waiting =
      random(2) === 0 && free.length > 0 ? [processOf(free[random(free.length)], `p${(count += 1)}`)] : [];
    const decision = rule({
      members: alive.map(({ process }) => process),
      reports,
      left: new Map(),
      dead,
      waiting,
      minRanks: 1,
    });
    if (decision.kind !== 'form') throw new Error(`seed ${seed}: ${JSON.stringify(decision)}`);
    const next = decision.members.map((member): Simulated => {
      return (
        survivors.find(({ process }) => process.token === member.token) ?? {
          process: member,
          history: [],
          isEmpty: true,
        }
      );
    });
    for (const one of next) {
      if (one.isEmpty || one.history.length >= decision.committed) continue;
      if (reports.get(one.process.token)!.next !== 'complete')
        throw new Error(`seed ${seed}: no result to commit`);
      one.history.push(pending.get(one.process.token)!);
    }
    const source = next.find(({ process }) => process.token === decision.source);
    for (const one of next) {
      if (!decision.joining.includes(one.process.token) || random(4) === 0) continue;
      one.history = [...source!.history];
      one.isEmpty = false;
    }
    const histories = new Set(next.filter(({ isEmpty }) => !isEmpty).map(({ history }) => history.join()));
    if (histories.size > 1)
      throw new Error(`seed ${seed}: different results ${[...histories].join(' and ')}`);
    const ranks = next.map(({ process }) => process.rank);
    if (new Set(ranks).size !== ranks.length) throw new Error(`seed ${seed}: two processes of one rank`);
    alive = next;
  }
}

function firstFailure(seeds: number, rule: typeof decide): string | undefined {
  for (let seed = 0; seed < seeds; seed += 1) {
    try {
      simulate(seed, rule);
    } catch (error) {
      return (error as Error).message;
    }
  }
  return undefined;
}

test('2,000 schedules of deaths and joins: every process has committed the same results', () => {
  expect(firstFailure(2000, decide)).toBeUndefined();
});

test('the schedules find a rule that repeats a step which a rank has committed', () => {
  const failure = firstFailure(2000, (given) => {
    const decision = decide(given);
    if (decision.kind !== 'form') return decision;
    return {
      ...decision,
      committed: Math.min(...[...given.reports.values()].map(({ committed }) => committed)),
    };
  });
  expect(failure).toMatch(/different results/);
});

test('the schedules find a rule that commits a step without a result on every rank', () => {
  const failure = firstFailure(2000, (given) => {
    const decision = decide(given);
    const isSomewhere = [...given.reports.values()].some(({ next }) => next === 'complete');
    if (decision.kind !== 'form' || !isSomewhere) return decision;
    const most = Math.max(...[...given.reports.values()].map(({ committed }) => committed));
    return { ...decision, committed: most + 1 };
  });
  expect(failure).toMatch(/no result to commit/);
});
