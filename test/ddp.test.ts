import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { ways } from './support/extent.ts';
import { largestDifference } from './support/largest-difference.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new Scenarios(builtScript('ddp.script'), temporaryFolder());

function ranks<Result>(
  size: number,
  scenario: string,
  options?: { transport?: string; stderr?: unknown },
): Promise<Result[]> {
  return scenarios.run(size, scenario, options);
}

const three = scenarios.job(3, ['wrap', 'refuse', 'changedByHand', 'verifyEvery', 'buffers']);

const isUnused =
  'ringrun: sometimes.weight, sometimes.bias did not contribute to the loss of any rank in step 1';
const two = scenarios.job(
  2,
  ['unusedOnOneRank', 'unusedInSecondPass', 'unusedEverywhere', 'lateBuffers', 'noSync'],
  { stderr: expect.stringMatching(new RegExp(`^${isUnused}[^\n]*\n$`)) },
);

interface BeforeAndAfter {
  before: number[];
  after: number[];
}

test('ranks initialized differently have the parameters of rank 0 after wrapping', async () => {
  const found = await three.of<BeforeAndAfter>('wrap');
  const [zero, ...others] = found;
  for (const other of others) expect(largestDifference(other.before, zero.before)).toBeGreaterThan(0.01);
  for (const { after } of found) expect(after).toEqual(zero.before);
});

interface Refusal {
  code: string;
  message: string;
  unchanged: boolean;
}

test('a model that differs on one rank is refused on every rank with both sides, no changes made', async () => {
  const found = await three.of<Record<string, Refusal>>('refuse');
  const sides = {
    shape: 'parameter 2: ranks 0, 1 have hidden.weight [5, 36]; rank 2 has hidden.weight [6, 36].',
    name: 'parameter 2: ranks 0, 1 have extra.weight [1, 1]; rank 2 has other.weight [1, 1].',
    count: 'parameter 2: ranks 0, 1 have extra.weight [1, 1]; rank 2 has none (2 parameters in all).',
    option: 'option 0: ranks 0, 1 have bucketCapMb 25; rank 2 has bucketCapMb 3.',
    dtype: 'buffer 0: ranks 0, 1 have count int64 [1]; rank 2 has count [1].',
    buffer: 'buffer 0: ranks 0, 1 have mean [2]; rank 2 has mean [3].',
  };
  for (const refusals of found) {
    for (const [kind, side] of Object.entries(sides)) {
      expect(refusals[kind]).toMatchObject({ code: 'ERR_MODEL_MISMATCH', unchanged: true });
      expect(refusals[kind].message).toContain(side);
    }
  }
});

test('every rank detects a parameter that was changed on one, and names that rank', async () => {
  const found = await three.of<{
    digest: string;
    ranks: number[];
    tensor: string;
    name: string;
    message: string;
  }>('changedByHand');
  for (const { digest, ranks: named, tensor, name, message } of found) {
    expect(digest).toBe(found[0].digest);
    expect({ name, named, tensor }).toEqual({
      name: 'ParametersDivergedError',
      named: [2],
      tensor: 'hidden.bias',
    });
    expect(message).toContain(`rank 0 has SHA-256 ${digest}, and rank(s) 2 have other values.`);
  }
});

test('the next comparison detects diverged parameters, and names the first one and its ranks', async () => {
  const found = await three.of<Record<string, unknown>>('verifyEvery');
  const notice = (step: number) => ({
    step,
    name: 'ParametersDivergedError',
    message: expect.stringMatching(
      new RegExp(
        `^Parameters differ between ranks in step ${step}: rank 0 has SHA-256 [0-9a-f]{64}, and rank\\(s\\) 1, 2 have other values\\. ` +
          'First difference: hidden\\.weight on rank\\(s\\) 2\\. Wrap the model',
      ),
    ) as unknown,
  });
  for (const settings of found) {
    expect(settings).toEqual({
      every2: notice(4),
      every5: notice(5),
      off: 'not noticed',
      byDefault: 'not noticed',
      refused: {
        code: 'ERR_INVALID_ARGUMENT',
        message:
          'DistributedDataParallel: verifyEvery: expected an integer number of steps (0 disables the check), got 1.5.',
      },
    });
  }
});

interface TwoHeads extends BeforeAndAfter {
  digest: string;
  unused: string[];
  hasGradient: boolean;
}

test('a layer that one rank skips in every second loss is trained identically on both', async () => {
  const found = await two.of<TwoHeads>('unusedOnOneRank');
  // The layer's bias has a gradient of 1/2 if a loss depends on it.
  let [bias, velocity] = [found[0].before.at(-1)!, 0];
  for (const gradient of [1 / 2, 1 / 4, 1 / 2, 1 / 4, 1 / 2, 1 / 4]) {
    velocity = 0.9 * velocity + gradient + 0.1 * bias;
    bias -= 0.1 * velocity;
  }
  expect(found[0].after.at(-1)).toBeCloseTo(bias, 5);
  expect(found[0].unused).toEqual([]);
  expect(found[1]).toEqual(found[0]);
});

test('an accumulated gradient is kept if one rank skips the layer in the next backward pass', async () => {
  const found = await two.of<number[]>('unusedInSecondPass');
  // The average of 1/2 and 1/2, and that of 1/2 and nothing.
  expect(found).toEqual([
    [0.75, 0.75],
    [0.75, 0.75],
  ]);
});

test('a layer that no rank uses has no gradient, is not updated, and is named once', async () => {
  // The stderr of the job is one line.
  const found = await two.of<TwoHeads>('unusedEverywhere');
  for (const { before, after, unused, hasGradient } of found) {
    expect(after).toEqual(before);
    expect({ unused, hasGradient }).toEqual({
      unused: ['sometimes.weight', 'sometimes.bias'],
      hasGradient: false,
    });
  }
  expect(found[1].digest).toBe(found[0].digest);
});

test('forward uses the buffers of rank 0 in training mode, but not in evaluation or noSync', async () => {
  const found = await three.of('buffers');
  for (const [rank, buffers] of found.entries()) {
    const own = rank + 1;
    const kept = [own, own, 10 * own, 10 * own, 10 * own, own];
    expect(buffers).toEqual({
      wrapped: [1, 1, 1, 1, 1, 1],
      training: [1, 1, 10, 10, 10, 1],
      inNoSync: kept,
      evaluating: kept,
      synced: [1, 1, 10, 10, 10, 1],
      off: kept,
    });
  }
});

test("waiting for a late rank's buffers does not block the event loop; reads see the new values", async () => {
  const found = await two.of('lateBuffers');
  for (const [rank, buffers] of found.entries()) {
    const own = rank + 1;
    const means = [2 * own, 3 * own];
    const near = (values: number[]) => values.map((value) => expect.closeTo(value, 5) as number);
    const evaluated = expect.closeTo(0, 5) as unknown;
    expect(buffers).toEqual({
      // The second pass begins with rank 0's statistics, whose means are 2 and 3.
      afterTwoPasses: near(means.map((mean, i) => 0.9 * (0.9 * 1 + 0.1 * (2 + i)) + 0.1 * mean)),
      readAtOnce: [1, 1],
      stateDict: [1, 1],
      evaluated: [evaluated, evaluated],
      inNoSync: near(means.map((mean) => 0.9 * own + 0.1 * mean)),
      error: rank === 0 ? 'CollectiveMismatchError' : 'UnevenInputsError',
      afterError: [own, own],
    });
  }
});

// All other tests show that a wrapped model prints no warning.
test('each of several ranks warns once about training without DDP; a world of one does not', async () => {
  const line = (rank: number) =>
    `ringrun: rank ${rank} of 2 computed gradients that are not averaged over the ranks, so each rank trains a separate model. ` +
    'Wrap the model: const ddp = new DistributedDataParallel(model). (Printed once per process.)\n';
  const either = [line(0) + line(1), line(1) + line(0)];
  const stderr = expect.toSatisfy((text: string) => either.includes(text)) as unknown;
  expect(await ranks(2, 'unwrapped', { stderr })).toEqual(['trained', 'trained']);
  expect(await ranks(1, 'unwrapped')).toEqual(['trained']);
});

test.each(ways(['shm'], ['tcp']))(
  '%s: 200 steps are bit-identical in every run, on all ranks, with and without overlap',
  async (transport) => {
    const runs = [
      await ranks<string[]>(2, 'digests', { transport }),
      await ranks<string[]>(2, 'digests', { transport }),
    ];
    const digests = runs.flat(2);
    expect(digests).toHaveLength(8);
    expect(new Set(digests).size).toBe(1);
  },
);

interface NoSync {
  value: string;
  failed: string;
  before: number[][];
  after: number[][];
  last: number[];
}

test('noSync accumulates gradients on each rank; the first pass outside averages the sums', async () => {
  const found = await two.of<NoSync>('noSync');
  // The gradient of each bias element is half of the factor of its pass.
  expect(found.map(({ before }) => before)).toEqual([
    [
      [1.5, 1.5],
      [1, 1],
    ],
    [[15, 15], []],
  ]);
  const [average, averageOfSecond] = [(1.5 + 15 + 2 + 20) / 2, 1 / 2];
  for (const { value, failed, after, last } of found) {
    expect({ value, failed }).toEqual({ value: 'value', failed: 'inside' });
    expect(after).toEqual([
      [average, average],
      [averageOfSecond, averageOfSecond],
    ]);
    // Two more averages of 1/2 and 5: after an error inside, ranks no longer accumulate.
    expect(last).toEqual([average + 5.5, average + 5.5]);
  }
});

test.each(ways(['shm'], ['tcp']))(
  "%s: averaged gradients are stored in the group's buffers",
  async (transport) => {
    const found = await ranks(2, 'gradientArrays', { transport });
    const averaged = { gradientIsArray: true, gradients: new Array(8).fill(1.5) };
    for (const arrays of found) {
      expect(arrays).toEqual({
        oneBucket: { ...averaged, shareBuffer: true },
        manyBuckets: { ...averaged, shareBuffer: false },
      });
    }
  },
);
