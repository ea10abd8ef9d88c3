import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { largestDifference } from './support/largest-difference.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

/** Whether the ranks compute with the TFJS_PACKAGE that `npm run test:tfjs-node` names instead of plain JavaScript. */
const isNative = process.env['TFJS_PACKAGE'] !== undefined;
const scenarios = new Scenarios(builtScript('tfjs.script'), temporaryFolder());

/** tf's line from every process, and ringrun's from rank 0. */
const tfBanner = /\n=+\nHi, looks like you are running TensorFlow\.js in Node\.js\. [^\n]*\n=+\n/g;
const costLine =
  /^ringrun: TensorFlow\.js computes in plain JavaScript \(backend 'cpu'\), [^\n]*\(printed once\)\n/gm;

/** Lines of libtensorflow about the processor. */
const nativeLines =
  /^\d{4}-\d\d-\d\d [\d:.]+: I tensorflow\/[^\n]*\n|^To enable the following instructions: [^\n]*\n/gm;

/** Other lines of the ranks. */
function stderrOf(rest: string | RegExp, lines = 1): unknown {
  return expect.toSatisfy((text: string) => {
    expect(text.match(costLine) ?? []).toHaveLength(isNative ? 0 : lines);
    const own = text.replaceAll(tfBanner, '').replaceAll(nativeLines, '').replaceAll(costLine, '').trim();
    if (typeof rest === 'string') expect(own).toBe(rest);
    else expect(own).toMatch(rest);
    return true;
  });
}

function ranks<Result>(size: number, scenario: string, stderr = stderrOf('')): Promise<Result[]> {
  return scenarios.run(size, scenario, { stderr });
}

const unused =
  'ringrun: never did not contribute to the loss of any rank in step 1 and received no gradient. Is a layer missing in forward? (Printed once per parameter.)';
const two = scenarios.job(2, ['sameAsOne', 'training', 'uneven', 'around'], {
  stderr: stderrOf(unused),
  env: { CUDA_VISIBLE_DEVICES: '4,7' },
});

type ByOptimizer = Record<'sgd' | 'momentum' | 'adam', number[]>;

/** Result of tf alone in one process with 16 samples a step; set by the first test. */
let alone: ByOptimizer;

describe('20 steps of model.fit', () => {
  /** Set by the first tests. */
  let found: ByOptimizer[];

  test('on two ranks yield bit-identical parameters', async () => {
    found = await two.of<ByOptimizer>('sameAsOne');
    expect(found[1]).toEqual(found[0]);
  });

  test('on one rank are bit-identical to tf alone', async () => {
    [alone] = await ranks<ByOptimizer>(1, 'tfAlone', stderrOf('', 0));
    expect(await ranks<ByOptimizer>(1, 'sameAsOne')).toEqual([alone]);
  });

  test('on two ranks × batch 8 match one process × batch 16, with SGD, momentum and Adam', () => {
    for (const name of ['sgd', 'momentum', 'adam'] as const) {
      expect(largestDifference(found[0][name], alone[name]), name).toBeLessThan(1e-5);
    }
    // The parameters have changed, to different values.
    expect(largestDifference(alone.sgd, alone.adam)).toBeGreaterThan(0.01);
  });
});

interface Training {
  device: string;
  waysToTrain: { before: string; digests: Record<string, string>; distinct: number };
  tensors: number[];
  accumulation: { values: number[]; applied: number; of: number };
  fp16: { fp16: number[]; exact: number[] };
  runningMeans: { found: number[][]; digest: string };
  inTurns: number[];
  appliedDirectly: Record<'by name' | 'list', number[]>;
  unused: { used: number[]; sometimes: number[]; never: number[]; unused: string[]; slots: string[] };
}

describe('two ranks', () => {
  /** Set by the first test and used by the others. */
  let found: Training[];

  test('name unused variables once, and exit with 0', async () => {
    // The job's stderr.
    found = await two.of<Training>('training');
  });

  test('see only the GPU of their LOCAL_RANK', () => {
    expect(found.map(({ device }) => device)).toEqual(['4', '7']);
  });

  test('are bit-identical after fit, fitDataset, trainOnBatch and minimize from any start', () => {
    const [zero, one] = found.map(({ waysToTrain }) => waysToTrain);
    expect(one.before).not.toBe(zero.before);
    expect(one.digests).toEqual(zero.digests);
    expect(Object.keys(zero.digests)).toHaveLength(5);
    expect(zero.distinct).toBe(5);
  });

  test('do not leak tensors from step to step', () => {
    for (const { tensors } of found) {
      expect(new Set(tensors.slice(1)).size).toBe(1);
      expect(tensors[1] - tensors[0]).toBe(1);
    }
  });

  test('that apply every second step match training with twice the batch', () => {
    for (const { accumulation } of found) {
      expect(largestDifference(accumulation.values, alone.adam)).toBeLessThan(1e-5);
      // 40 steps; the first and every second one change nothing.
      expect(accumulation).toMatchObject({ applied: 20, of: 40 });
    }
  });

  test('with the float16 hook stay close to float32 and bit-identical to each other', () => {
    const { fp16, exact } = found[0].fp16;
    expect(found[1].fp16.fp16).toEqual(fp16);
    expect(largestDifference(fp16, exact)).toBeLessThan(1e-2);
    expect(largestDifference(fp16, exact)).toBeGreaterThan(1e-7);
  });

  test('have the running means of rank 0 after each step', () => {
    // keras's momentum is 0.99; the batches have means of tens.
    const first = 0.01 * 10;
    const second = 0.99 * first + first;
    for (const { runningMeans } of found) {
      for (const [i, mean] of [first, second].entries()) {
        for (const value of runningMeans.found[i]) expect(value).toBeCloseTo(mean, 6);
      }
      expect(runningMeans.digest).toBe(found[0].runningMeans.digest);
    }
  });

  test('train two models in turns, each with its own optimizer', () => {
    expect(found[1].inTurns).toEqual(found[0].inTurns);
    // The result of one process that starts with rank 0's values: a = [0, 1], b = [1, 1]. Adam's first steps equal its
    // rate.
    expect(found[0].inTurns[0]).toBeCloseTo(-0.33, 1);
  });

  test('average the gradients passed to applyGradients, by name or in a list', () => {
    // The gradients of the two ranks are 1 and 2 for each weight, and 1 for the bias.
    const after = [1 - 0.1 * 1.5 * 2, 2 - 0.1 * 1.5 * 2, -0.1 * 2];
    for (const { appliedDirectly } of found) {
      for (const values of Object.values(appliedDirectly)) {
        expect(values.map((value, i) => Math.abs(value - after[i]) < 1e-6)).toEqual([true, true, true]);
      }
    }
  });

  test('average variables that one rank uses, leave unused ones, and keep moments separate', () => {
    const end = (gradients: readonly number[]) => {
      let [value, velocity] = [1, 0];
      for (const gradient of gradients) {
        velocity = 0.5 * velocity + gradient;
        value -= 0.1 * velocity;
      }
      return value;
    };
    for (const { unused } of found) {
      expect(unused.used[0]).toBeCloseTo(end([1, 1, 1, 1]), 5);
      expect(unused.sometimes[0]).toBeCloseTo(end([1, 1 / 2, 1, 1 / 2]), 5);
      expect(unused.never).toEqual([1, 1]);
      expect(unused.unused).toEqual(['never']);
      expect(unused.slots).toEqual(['iter', 'used/momentum', 'sometimes/momentum']);
    }
  });
});

interface Around {
  callbacks: {
    own: number;
    rates: number[];
    epochs: number[];
    history: Record<string, number[]>;
    files: string[];
  };
  resumed: { outcome: { code: string }; equal: boolean };
  checkpointFails: { code: string; message: string };
  shards: Record<'even' | 'every', { passes: number[][]; size: number }> & {
    batched: number[][];
    left: number;
    refused: { code: string };
  };
}

describe('callbacks and data', () => {
  /** Result of the first test. */
  let found: Around[];

  test('ranks exit with 0', async () => {
    found = await two.of<Around>('around');
  });

  test('metrics are averaged over ranks, early stopping stops all, and the warmup doubles the rate', () => {
    const [zero, one] = found.map(({ callbacks }) => callbacks);
    expect(one.history).toEqual(zero.history);
    expect(one.own).not.toBe(zero.own);
    expect(Object.keys(zero.history).sort()).toEqual(['acc', 'loss', 'val_acc', 'val_loss']);
    // After two steps of 0.01 and 0.015 the loss is still near the mean of both ranks.
    expect(Math.abs(zero.history.loss[0] - (zero.own + one.own) / 2)).toBeLessThan(0.02);
    for (const { rates, epochs } of [zero, one]) {
      expect(epochs).toEqual([0, 1]);
      expect(rates).toEqual([0.01, 0.015, 0.02, 0.02]);
    }
  });

  test('rank 0 writes checkpoints; a resumed run is bit-identical to an uninterrupted one', () => {
    expect(found.map(({ callbacks }) => callbacks.files)).toEqual([
      ['model.json', expect.stringMatching(/^weights-[0-9a-f]{16}\.bin$/)],
      [],
    ]);
    for (const { resumed } of found)
      expect(resumed).toMatchObject({ outcome: { code: 'none' }, equal: true });
  });

  test('a checkpoint that rank 0 cannot write fails on every rank', () => {
    for (const { checkpointFails } of found) {
      expect(checkpointFails.code).toBe('ERR_CHECKPOINT');
      expect(checkpointFails.message).toMatch(
        /^rank 0 could not save the model at the end of epoch 1: ENOTDIR: not a directory/,
      );
    }
  });

  test("shards have equal lengths or each element once, and dispose other ranks' tensors", () => {
    const [zero, one] = found.map(({ shards }) => shards);
    const twice = (elements: number[]) => [elements, elements];
    expect(zero.even).toEqual({ passes: twice([0, 2, 4]), size: 3 });
    expect(one.even).toEqual({ passes: twice([1, 3, 5]), size: 3 });
    expect(zero.every).toEqual({ passes: twice([0, 2, 4, 6]), size: 4 });
    expect(one.every).toEqual({ passes: twice([1, 3, 5]), size: 3 });
    expect(zero.batched).toEqual([[0, 2], [4]]);
    for (const { left, refused } of [zero, one]) {
      expect(left).toBe(0);
      expect(refused.code).toBe('ERR_ARGUMENT');
    }
  });
});

interface Refusal {
  code: string;
  message: string;
  unchanged?: boolean;
}

test('models that differ between ranks are refused on every rank, with both sides', async () => {
  const found = await ranks<Record<string, Refusal>>(2, 'refused');
  const kernel = (units: number) => expect.stringContaining(`dense_Dense1/kernel [36, ${units}]`) as unknown;
  for (const refusals of found) {
    expect(refusals.shape).toMatchObject({ code: 'ERR_MODEL_MISMATCH', message: kernel(8), unchanged: true });
    expect(refusals.shape.message).toContain('rank 1 has dense_Dense1/kernel [36, 9]');
    expect(refusals.rate).toMatchObject({ code: 'ERR_OPTIMIZER_MISMATCH', unchanged: true });
    expect(refusals.rate.message).toMatch(
      /rank 0 has Adam \{"learningRate":0\.01,.*rank 1 has Adam \{"learningRate":0\.1,/,
    );
    expect(refusals.twice.code).toBe('ERR_ALREADY_DISTRIBUTED');
    expect(refusals.noOptimizer).toMatchObject({
      code: 'ERR_ARGUMENT',
      message:
        "distribute: expected an optimizer such as tf.train.adam(), got 'adam' without minimize, computeGradients, applyGradients.",
    });
    expect(refusals.accumulation.code).toBe('ERR_ARGUMENT');
    expect(refusals.notDistributed.code).toBe('ERR_NOT_DISTRIBUTED');
    expect(refusals.broadcast).toMatchObject({
      code: 'ERR_VARIABLES_MISMATCH',
      message: expect.stringContaining('rank 0 has own float32 [2]; rank 1 has own float32 [3].') as unknown,
    });
    expect(refusals.differ.code).toBe('ERR_VARIABLES_DIFFER');
    expect(refusals.afterBroadcast.code).toBe('none');
    expect(refusals.named.message).toContain('got unknown, which is not a variable');
  }
});

test('before initProcessGroup, functions that need a group throw', async () => {
  const found = await scenarios.runAlone<Refusal[]>('beforeInit', { stderr: stderrOf('', 0) });
  expect(found.map(({ code }) => code)).toEqual(new Array(3).fill('ERR_NOT_INITIALIZED'));
  expect(found[0].message).toBe(
    'distribute: no process group is initialized. Import ringrun and `await initProcessGroup()` first, and call it before destroyProcessGroup(). ' +
      'Without a launcher, initProcessGroup() creates a group with one rank.',
  );
});

test("the other ranks' error names a rank with fewer batches, the step and the fix", async () => {
  const found = await two.of<Refusal>('uneven');
  expect(found[0].code).toBe('ERR_UNEVEN_INPUTS');
  expect(found[0].message).toMatch(
    /^step 2 of .*rank 1 .*barrier.*give every rank the same number of batches\.$/,
  );
});
