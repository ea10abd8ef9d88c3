import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { largestDifference } from './support/largest-difference.ts';
import { SharedScenarios } from './support/shared-scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new SharedScenarios(builtScript('local-steps.script'), temporaryFolder());

interface Trace {
  initial: number[];
  /** The parameters before and after `step()`. */
  found: { before: number[]; after: number[] }[];
  /** Those of the last outer step, and this rank's own, after the last step. */
  common: number[];
  own: number[];
  synchronized: number[];
}

const meanOf = (lists: readonly number[][]) =>
  lists[0].map((_, i) => lists.reduce((sum, list) => sum + list[i], 0) / lists.length);

test('LocalSGD after every step of SGD is DistributedDataParallel', async () => {
  const found = await scenarios.run<Record<'ddp' | 'local', number[]>>(2, 'everyStep');
  expect(found[1]).toEqual(found[0]);
  expect(largestDifference(found[0].local, found[0].ddp)).toBeLessThan(1e-6);
});

/** The outer optimizer in doubles (torch.optim.SGD with nesterov). */
class Outer {
  parameters: number[];
  readonly #velocity: number[];

  constructor(initial: readonly number[]) {
    this.parameters = [...initial];
    this.#velocity = initial.map(() => 0);
  }

  step(differences: readonly number[], begin: number): void {
    for (const [i, difference] of differences.entries()) {
      const velocity = 0.9 * this.#velocity[begin + i] + difference;
      this.#velocity[begin + i] = velocity;
      this.parameters[begin + i] -= 0.7 * (difference + 0.9 * velocity);
    }
  }
}

test('DiLoCo: an outer step of Nesterov follows each round of local steps', async () => {
  const traces = await scenarios.run<Trace>(3, 'classic');
  const outer = new Outer(traces[0].initial);
  for (const step of traces[0].found.keys()) {
    const ofRanks = traces.map(({ found }) => found[step]);
    if ((step + 1) % 3 !== 0) {
      for (const { before, after } of ofRanks) expect(after).toEqual(before);
      expect(ofRanks[1].after).not.toEqual(ofRanks[0].after);
      continue;
    }
    const mean = meanOf(ofRanks.map(({ before }) => before));
    outer.step(
      outer.parameters.map((value, i) => value - mean[i]),
      0,
    );
    for (const { after } of ofRanks) expect(after).toEqual(ofRanks[0].after);
    expect(largestDifference(ofRanks[0].after, outer.parameters)).toBeLessThan(2e-6);
  }
  for (const { common, own } of traces) expect(common).toEqual(own);
});

test('DiLoCo: fragments are exchanged in turn, while the ranks take further steps', async () => {
  const traces = await scenarios.run<Trace>(2, 'streaming');
  const { initial, found } = traces[0];
  const outer = new Outer(initial);
  const bounds = [0, 1, 2, 3].map((fragment) => Math.floor((initial.length * fragment) / 3));
  const sent = new Map<number, number[]>();
  for (const step of found.keys()) {
    const expected = traces.map((trace) => [...trace.found[step].before]);
    for (const fragment of [0, 1, 2]) {
      const [begin, end] = [bounds[fragment], bounds[fragment + 1]];
      const sentAt = 2 * (fragment + 1);
      if (step + 1 >= sentAt + 2 && (step + 1 - sentAt - 2) % 6 === 0) {
        outer.step(sent.get(fragment)!, begin);
        for (const values of expected)
          for (let i = begin; i < end; i += 1) values[i] = 0.5 * values[i] + 0.5 * outer.parameters[i];
      }
    }
    for (const [rank, values] of expected.entries())
      expect(largestDifference(traces[rank].found[step].after, values), `step ${step + 1}`).toBeLessThan(
        2e-6,
      );
    for (const fragment of [0, 1, 2]) {
      if ((step + 1 - 2 * (fragment + 1)) % 6 !== 0) continue;
      const [begin, end] = [bounds[fragment], bounds[fragment + 1]];
      const mean = meanOf(expected.map((values) => values.slice(begin, end)));
      sent.set(
        fragment,
        mean.map((value, i) => outer.parameters[begin + i] - value),
      );
    }
  }
  expect(traces[1].common).toEqual(traces[0].common);
  expect(traces[1].own).not.toEqual(traces[0].own);
  expect(traces[1].synchronized).toEqual(traces[0].synchronized);
});

test.each([
  {
    ranks: 4,
    lists: [
      [0, 1],
      [2, 3],
    ],
  },
  { ranks: 3, lists: [[0], [1, 2]] },
])(
  'DiLoCo: islands $lists average every step inside, and their ranks count equally',
  async ({ ranks, lists }) => {
    const traces = await scenarios.run<Trace>(ranks, 'islands');
    for (const step of traces[0].found.keys()) {
      const ofRanks = traces.map(({ found }) => found[step]);
      for (const list of lists)
        for (const rank of list) expect(ofRanks[rank].before).toEqual(ofRanks[list[0]].before);
      expect(ofRanks[lists[1][0]].before).not.toEqual(ofRanks[0].before);
      if ((step + 1) % 3 !== 0) continue;
      const mean = meanOf(ofRanks.map(({ before }) => before));
      for (const { after } of ofRanks) expect(after).toEqual(ofRanks[0].after);
      expect(largestDifference(ofRanks[0].after, mean)).toBeLessThan(2e-6);
    }
  },
);

test.each([2, 4])(
  'DiLoCo: %i ranks take the steps of DDP in the warm-up, and local ones then',
  async (ranks) => {
    const traces = await scenarios.run<Trace & { averaged: number[][] }>(ranks, 'warmup');
    const { averaged } = traces[0];
    const outer = new Outer(averaged[4]);
    for (const step of traces[0].found.keys()) {
      const ofRanks = traces.map(({ found }) => found[step]);
      if (step < 5) {
        for (const { before, after } of ofRanks) {
          expect(before, `step ${step + 1}`).toEqual(averaged[step]);
          expect(after).toEqual(before);
        }
        continue;
      }
      // With four ranks, the two of an island average.
      if (ranks === 4) expect(ofRanks[1].before).toEqual(ofRanks[0].before);
      expect(ofRanks.at(-1)!.before).not.toEqual(ofRanks[0].before);
      if ((step - 4) % 3 !== 0) continue;
      const mean = meanOf(ofRanks.map(({ before }) => before));
      outer.step(
        outer.parameters.map((value, i) => value - mean[i]),
        0,
      );
      for (const { after } of ofRanks) expect(after).toEqual(ofRanks[0].after);
      expect(largestDifference(ofRanks[0].after, outer.parameters)).toBeLessThan(2e-6);
    }
  },
);

test('formIslands: by default the ranks of a host, which leave nothing to exchange on one host', async () => {
  const traces = await scenarios.run<Trace & { island: number; across: null }>(2, 'oneHost');
  for (const { island, across, synchronized } of traces) {
    expect({ island, across }).toEqual({ island: 2, across: null });
    expect(synchronized).toEqual(traces[0].synchronized);
  }
});

type Resumed = Record<'own' | 'continued' | 'again' | 'synchronized' | 'synchronizedAgain', number[]>;

test.each([
  { when: 'while a fragment is under way', scenario: 'resumed', saved: 7 },
  { when: 'in the warm-up', scenario: 'resumedInWarmup', saved: 2 },
  { when: 'at the end of the warm-up', scenario: 'resumedAfterWarmup', saved: 4 },
])('DiLoCo: a training that resumes $when continues bit-identically', async ({ scenario, saved }) => {
  const found = await scenarios.run<Resumed & { step: number; steps: number }>(2, scenario);
  for (const { step, steps, own, continued, again, synchronized, synchronizedAgain } of found) {
    expect({ step, steps }).toEqual({ step: saved, steps: saved });
    expect(continued).toEqual(own);
    expect(again).toEqual(own);
    expect(synchronizedAgain).toEqual(synchronized);
    expect(synchronized).toEqual(found[0].synchronized);
  }
  expect(found[1].own).not.toEqual(found[0].own);
});

interface Fitted {
  values: number[];
  loss: number;
  globalStep: number;
}

type TrainerFound = Record<'ddp' | 'whole' | 'resumed' | 'inWarmup' | 'beyond', Fitted> &
  Record<'failure' | 'refused', string>;

test('a Trainer with diloco resumes bit-identically, and ends with the same parameters on all ranks', async () => {
  const found = await scenarios.run<TrainerFound>(2, 'trainer');
  for (const { ddp, whole, resumed, inWarmup, beyond, failure, refused } of found) {
    expect(whole.globalStep).toBe(16);
    expect(whole.values).toEqual(found[0].whole.values);
    expect(whole.values).not.toEqual(ddp.values);
    expect(whole.loss).toBe(found[0].whole.loss);
    expect(Math.abs(whole.loss - ddp.loss)).toBeLessThan(0.1);
    expect(failure).toBe('step 9');
    expect(resumed).toEqual(whole);
    expect(refused).toBe('DiLoCo: alpha: expected a number from 0 to 1, got 3.');
    expect(inWarmup).toEqual(ddp);
    expect(beyond.values).toEqual(found[0].beyond.values);
    expect(beyond.values).not.toEqual(ddp.values);
  }
});

test('DiLoCo and LocalSGD refuse options out of range, and options that differ', async () => {
  const [refusals] = await scenarios.run<string[]>(2, 'refused');
  expect(refusals).toEqual([
    'ERR_INVALID_ARGUMENT: DiLoCo: innerSteps must be an integer of at least 1, got 0.',
    'ERR_INVALID_ARGUMENT: DiLoCo: warmupSteps must be an integer of at least 0, got -1.',
    'ERR_INVALID_ARGUMENT: DiLoCo: fragments must be an integer from 1 to 100, got 101.',
    'ERR_INVALID_ARGUMENT: DiLoCo: overlapSteps must be an integer from 0 to 99, got 100.',
    'ERR_INVALID_ARGUMENT: DiLoCo: alpha: expected a number from 0 to 1, got 2.',
    expect.stringMatching(
      /^ERR_INVALID_ARGUMENT: LocalSGD: transport: expected one of 'float32', 'bf16'.*, got 'int3'\.$/,
    ),
    'ERR_INVALID_ARGUMENT: DiLoCo: outer.lr: expected a number of at least 0, got -1.',
    expect.stringMatching(/nesterow/),
    'ERR_INVALID_ARGUMENT: DiLoCo: expected a model with at least one parameter that is trained, got none. Wrap a model that can be trained.',
    'ERR_INVALID_ARGUMENT: formIslands: expected lists that contain each of the ranks 0 to 1 once, got [[0],[0]].',
  ]);
  for (const problem of await scenarios.run<string>(2, 'differing'))
    expect(problem).toMatch(/^ERR_MODEL_MISMATCH: DiLoCo: .*option.*innerSteps 5.*innerSteps 6/);
});
