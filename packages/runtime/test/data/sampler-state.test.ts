import { describe, expect, test } from 'vitest';
import { DataLoader } from '../../src/data/data-loader.ts';
import { DistributedSampler } from '../../src/data/distributed-sampler.ts';
import type { DistributedSamplerOptions } from '../../src/data/distributed-sampler.ts';
import { RandomSampler, SequentialSampler } from '../../src/data/sampler.ts';
import type { SamplerState } from '../../src/data/sampler-state.ts';

const loadersOf = (
  length: number,
  batchSize: number,
  worldSize: number,
  options: DistributedSamplerOptions,
) =>
  Array.from({ length: worldSize }, (_, rank) => {
    const sampler = new DistributedSampler(length, { ...options, numReplicas: worldSize, rank });
    const dataset = { length, at: (index: number) => index };
    return new DataLoader(dataset, { batchSize, sampler, collateFn: (samples) => samples });
  });

type Loaders = ReturnType<typeof loadersOf>;

/**
 * The samples that ranks in lockstep receive until `steps` steps are done or the epoch is over, and the states of the
 * ranks that took part in the last step.
 */
function train(loaders: Loaders, steps = Infinity): { seen: number[]; states: SamplerState[] } {
  let running = loaders.map((loader) => ({ loader, iterator: loader[Symbol.iterator]() }));
  const seen: number[] = [];
  for (let step = 0; step < steps; step += 1) {
    const drawn = running.map((rank) => ({ ...rank, ...rank.iterator.next() }));
    if (drawn.every(({ done }) => done)) break;
    running = drawn.filter(({ done }) => !done);
    seen.push(...drawn.flatMap(({ value }) => value ?? []));
  }
  return { seen, states: running.map(({ loader }) => loader.stateDict() as SamplerState) };
}

function resumed(state: SamplerState, loaders: Loaders): Loaders {
  for (const loader of loaders) loader.loadStateDict(structuredClone(state));
  return loaders;
}

const all = (length: number) => Array.from({ length }, (_, index) => index);
const sorted = (indices: readonly number[]) => indices.toSorted((a, b) => a - b);

describe.each([1, 2, 3, 4, 7])('an epoch started on %i ranks', (before) => {
  const worlds = [1, 2, 3, 5, 8];

  test.each(worlds)('resumes on %i at any step and visits each sample once', (after) => {
    for (const length of [0, 1, 6, 23, 48]) {
      for (const batchSize of [1, 3]) {
        const options = { seed: 5, evenDivisible: false };
        const stepsPerEpoch = Math.ceil(length / before / batchSize);
        for (let steps = 0; steps <= stepsPerEpoch; steps += 1) {
          const first = train(loadersOf(length, batchSize, before, options), steps);
          expect(new Set(first.states.map((state) => state.samplesSeen)).size).toBe(1);
          const second = train(resumed(first.states[0], loadersOf(length, 2, after, options)));
          expect(sorted([...first.seen, ...second.seen])).toEqual(all(length));
        }
      }
    }
  });

  test.each(worlds)('resumes on %i with padding or dropLast, and only padding repeats samples', (after) => {
    for (const dropLast of [false, true]) {
      for (const [length, steps] of [
        [23, 2],
        [48, 1],
        [48, 3],
      ]) {
        const first = train(loadersOf(length, 2, before, { dropLast }), steps);
        const unseen = all(length).filter((index) => !first.seen.includes(index));
        const second = train(resumed(first.states[0], loadersOf(length, 2, after, { dropLast })));
        const whole = (dropLast ? Math.floor : Math.ceil)(unseen.length / after) * after;
        expect(second.seen).toHaveLength(whole);
        const fresh = new Set(second.seen.filter((index) => unseen.includes(index)));
        expect(fresh.size).toBe(Math.min(whole, unseen.length));
      }
    }
  });
});

test('a job resized twice in an epoch visits each sample once', () => {
  const options = { evenDivisible: false };
  const first = train(loadersOf(101, 4, 4, options), 2);
  const second = train(resumed(first.states[0], loadersOf(101, 4, 3, options)), 3);
  const third = train(resumed(second.states[0], loadersOf(101, 4, 5, options)));
  expect(sorted([...first.seen, ...second.seen, ...third.seen])).toEqual(all(101));
});

test('on the same number of ranks, all epochs equal those of an uninterrupted job', () => {
  const uninterrupted = loadersOf(50, 3, 2, { seed: 9 });
  const epochs = [1, 2, 3].map(() => train(uninterrupted).seen);
  const before = loadersOf(50, 3, 2, { seed: 9 });
  const first = [train(before).seen, train(before, 4).seen];
  const after = resumed(before[0].stateDict() as SamplerState, loadersOf(50, 3, 2, { seed: 1 }));
  expect([first[0], [...first[1], ...train(after).seen], train(after).seen]).toEqual(epochs);
});

describe('the state', () => {
  const stateOf = (epoch: number, samplesSeen: number) => ({
    epoch,
    samplesSeen,
    seed: 0,
    shuffle: true,
    datasetLength: 10,
  });

  test('counts the samples delivered on all ranks; afterwards it is the next epoch’s start', () => {
    const [loader] = loadersOf(10, 2, 2, {});
    const states = [loader.stateDict()];
    const batches = loader[Symbol.iterator]();
    while (!batches.next().done) states.push(loader.stateDict());
    states.push(loader.stateDict());
    expect(states).toEqual([stateOf(0, 0), stateOf(0, 4), stateOf(0, 8), stateOf(0, 10), stateOf(1, 0)]);
  });

  test('of a sampler without a loader counts the yielded indices', () => {
    const sampler = new RandomSampler(10);
    const pass = sampler[Symbol.iterator]();
    expect(sampler.stateDict()).toEqual(stateOf(0, 0));
    pass.next();
    expect(sampler.stateDict()).toEqual(stateOf(0, 1));
    expect([...pass]).toHaveLength(9);
    expect(sampler.stateDict()).toEqual(stateOf(1, 0));
  });

  test('does not count a batch that failed', () => {
    const dataset = {
      length: 4,
      at: (index: number) => {
        if (index === 2) throw new Error('unreadable');
        return index;
      },
    };
    const loader = new DataLoader(dataset, { batchSize: 2 });
    expect(() => [...loader]).toThrow('unreadable');
    expect(loader.stateDict()).toMatchObject({ epoch: 0, samplesSeen: 2 });
  });

  test('saved in the last batch resumes at the end of the epoch', () => {
    const [loader] = resumed(stateOf(3, 10), loadersOf(10, 2, 1, {}));
    expect([...loader]).toEqual([]);
    expect(loader.stateDict()).toEqual(stateOf(4, 0));
  });

  test('is kept by setEpoch of its epoch and dropped by another epoch', () => {
    const sampler = new DistributedSampler(10);
    sampler.loadStateDict(stateOf(2, 7));
    sampler.setEpoch(2);
    expect([...sampler]).toHaveLength(3);
    sampler.loadStateDict(stateOf(2, 7));
    sampler.setEpoch(3);
    expect(sampler.stateDict()).toEqual(stateOf(3, 0));
    expect([...sampler]).toHaveLength(10);
  });

  test('is kept after an abandoned loop; the next iteration is the next epoch', () => {
    const [loader] = loadersOf(10, 2, 1, {});
    const leave = () => {
      const [first] = loader;
      return first;
    };
    leave();
    expect(loader.stateDict()).toEqual(stateOf(0, 2));
    leave();
    expect(loader.stateDict()).toEqual(stateOf(1, 2));
  });
});

describe('rejects, and changes nothing:', () => {
  const sampler = new DistributedSampler(20);
  const state = { ...sampler.stateDict(), samplesSeen: 3 };
  test.each([
    [
      'another dataset',
      { datasetLength: 21 },
      'expected the state of a dataset of 20 samples, got one of 21',
    ],
    [
      'another order',
      { shuffle: false },
      "expected the state of a shuffled order, got the state of the dataset's own order",
    ],
    ['more samples than exist', { samplesSeen: 21 }, 'samplesSeen must be an integer from 0 to 20, got 21'],
    ['half an epoch', { epoch: 0.5 }, 'epoch must be an integer of at least 0, got 0.5'],
    [
      'a seed that is a string',
      { seed: '7' as never },
      'seed must be an integer from -(2^53 - 1) to 2^53 - 1, got 7',
    ],
  ])('%s', (_, change, message) => {
    const before = sampler.stateDict();
    expect(() => {
      sampler.loadStateDict({ ...state, ...change });
    }).toThrow(message);
    expect(sampler.stateDict()).toEqual(before);
  });

  test('a sampler without a state', () => {
    const loader = new DataLoader(all(3), { sampler: [2, 1] });
    expect(() => loader.stateDict()).toThrow(
      'DataLoader.stateDict: its sampler keeps no state. Give it a DistributedSampler',
    );
    expect(() => {
      loader.loadStateDict(state);
    }).toThrow('DataLoader.loadStateDict: its sampler keeps no state');
  });
});

describe('evenDivisible: false', () => {
  test.each([
    [10, 3],
    [7, 2],
    [2, 5],
    [0, 2],
    [12, 4],
  ])('%i samples on %i ranks: each once', (length, numReplicas) => {
    const samplers = all(numReplicas).map(
      (rank) => new DistributedSampler(length, { numReplicas, rank, shuffle: false, evenDivisible: false }),
    );
    const shares = samplers.map((sampler) => [...sampler]);
    expect(samplers.map((sampler) => sampler.length)).toEqual(shares.map((share) => share.length));
    expect(sorted(shares.flat())).toEqual(all(length));
    const lengths = shares.map((share) => share.length);
    expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
  });

  test('contradicts dropLast', () => {
    expect(() => new DistributedSampler(7, { dropLast: true, evenDivisible: false })).toThrow(
      'got both dropLast: true',
    );
  });
});

test('a SequentialSampler resumes', () => {
  const sampler = new SequentialSampler(5);
  sampler.loadStateDict({ ...sampler.stateDict(), samplesSeen: 3 });
  expect([...sampler]).toEqual([3, 4]);
  expect([...sampler]).toEqual(all(5));
});
