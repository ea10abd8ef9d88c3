import { tensor } from '@ringrun/nn';
import { describe, expect, test, vi } from 'vitest';
import {
  AUROC,
  Accuracy,
  ConfusionMatrix,
  F1Score,
  MeanMetric,
  MeanSquaredError,
  Metric,
  MetricCollection,
  Perplexity,
  R2Score,
  SumMetric,
  type MetricInput,
  type MetricState,
  type Values,
} from '../../src/index.ts';

const threeClasses = { task: 'multiclass', numClasses: 3 } as const;
const scores = { data: Float32Array.of(3, 1, 2, 0, 5, 1), shape: [2, 3] };

describe('inputs', () => {
  test('are computed tensors, bool tensors, bfloat16 tensors, arrays with a shape and typed arrays', async () => {
    const target = tensor(BigInt64Array.of(0n, 1n));
    const forms: MetricInput[][] = [
      [tensor(scores.data, [2, 3]).mul(2), target],
      [tensor(scores.data, [2, 3]).bfloat16(), target],
      [scores, { data: Uint8Array.of(0, 1), shape: [2] }],
      [Int32Array.of(0, 1), BigUint64Array.of(0n, 1n)],
    ];
    for (const [predictions, expected] of forms) {
      const accuracy = new Accuracy(threeClasses);
      await accuracy.update(predictions, expected);
      expect(await accuracy.compute()).toBe(1);
    }
    const binary = new Accuracy({ task: 'binary' });
    await binary.update(tensor(Float32Array.of(0.2, 0.7)).gt(0.5), Float32Array.of(0, 1));
    expect(await binary.compute()).toBe(1);
  });

  test.each<[string, () => Metric<unknown>, [MetricInput, MetricInput]]>([
    ['class 3 of 3', () => new Accuracy(threeClasses), [scores, BigInt64Array.of(0n, 3n)]],
    ['negative class', () => new ConfusionMatrix(threeClasses), [scores, Int32Array.of(0, -1)]],
    ['fraction as a class', () => new F1Score(threeClasses), [scores, Float32Array.of(0, 0.5)]],
    ['scores as classes', () => new Accuracy(threeClasses), [Float32Array.of(0, 1), Int32Array.of(0, 1)]],
    ['too few targets', () => new Accuracy(threeClasses), [scores, Int32Array.of(0)]],
    ['other classes', () => new Accuracy({ ...threeClasses, numClasses: 4 }), [scores, Int32Array.of(0, 1)]],
    ['labels as scores', () => new AUROC({ task: 'binary' }), [Int32Array.of(0, 1), Int32Array.of(0, 1)]],
    ['other shapes', () => new MeanSquaredError(), [scores, Float32Array.of(1)]],
    ['other outputs', () => new R2Score({ numOutputs: 2 }), [scores, scores]],
    ['token 3 of 3', () => new Perplexity(), [scores, Int32Array.of(0, 3)]],
    ['a wrong shape', () => new MeanSquaredError(), [{ ...scores, shape: [2, 2] }, scores]],
    ['a list', () => new MeanSquaredError(), [[1] as never, scores]],
  ])('%s is refused by name, and nothing is added', async (_, create, [predictions, target]) => {
    const metric = create();
    const message = new RegExp(`^${metric.constructor.name}\\.update: .*expected .*, got `);
    const before = structuredClone(metric.state());
    await expect(metric.update(predictions, target)).rejects.toThrow(message);
    expect(metric.state()).toEqual(before);
  });

  test('a collection that refuses a batch has added it to no metric', async () => {
    const metrics = { error: new MeanSquaredError(), accuracy: new Accuracy(threeClasses) };
    const collection = new MetricCollection(metrics);
    await expect(collection.update(Float32Array.of(1), Float32Array.of(2))).rejects.toThrow(
      /^Accuracy\.update/,
    );
    expect(await metrics.error.compute()).toBeNaN();
  });
});

describe('options', () => {
  test.each<[string, () => unknown, RegExp]>([
    [
      'an unknown task',
      () => new Accuracy({ task: 'multi' } as never),
      /^Accuracy: task: expected 'binary', /,
    ],
    ['no classes', () => new Accuracy({ task: 'multiclass' } as never), /numClasses must be an integer/],
    [
      'topK above the classes',
      () => new F1Score({ ...threeClasses, topK: 4 }),
      /topK must be .* from 1 to 3/,
    ],
    ['an average of two classes', () => new Accuracy({ task: 'binary', average: 'macro' }), /average/],
    ['micro AUROC of classes', () => new AUROC({ ...threeClasses, average: 'micro' }), /average: expected/],
    ['a beta of F1', () => new F1Score({ task: 'binary', beta: 2 } as never), /beta/],
    ['one threshold', () => new AUROC({ task: 'binary', thresholds: 1 }), /thresholds must be/],
  ])('%s is refused', (_, create, message) => {
    expect(create).toThrow(message);
  });
});

describe('values', () => {
  test('NaN is left out with one line, replaced, or an error', async () => {
    const lines = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const mean = new MeanMetric();
    await mean.update(Float32Array.of(1, NaN, 3));
    await mean.update(NaN);
    expect(await mean.compute()).toBe(2);
    expect(lines.mock.calls).toEqual([[expect.stringContaining('MeanMetric.update: NaN is left out')]]);
    lines.mockRestore();
    const sum = new SumMetric({ nanStrategy: 5 });
    await sum.update(Float32Array.of(1, NaN));
    expect(await sum.compute()).toBe(6);
    await expect(new SumMetric({ nanStrategy: 'error' }).update(NaN)).rejects.toThrow(/got NaN/);
  });

  test('a mean is weighted by a number or by a weight for each value', async () => {
    const mean = new MeanMetric();
    await mean.update(Float32Array.of(1, 3), Float32Array.of(3, 1));
    await mean.update(10, 2);
    expect(await mean.compute()).toBe(26 / 6);
    await expect(mean.update(Float32Array.of(1, 3), Float32Array.of(3, 1, 1))).rejects.toThrow(/weight/);
  });

  test('without updates, the accuracy is 0, errors are NaN, and R2 is refused', async () => {
    expect(await new Accuracy(threeClasses).compute()).toBe(0);
    expect(await new MeanSquaredError().compute()).toBeNaN();
    await expect(new R2Score().compute()).rejects.toThrow('expected at least 2 samples on all ranks, got 0');
  });

  test('a perplexity is finite where the probability of a token is 0 in float32', async () => {
    const perplexity = new Perplexity();
    await perplexity.update({ data: Float32Array.of(0, 200), shape: [1, 2] }, Int32Array.of(0));
    expect(await perplexity.compute()).toBeCloseTo(Math.exp(200), -80);
  });

  test('a metric of your own has sums and lists', async () => {
    class Range extends Metric {
      constructor() {
        super({ sums: 1, lists: 1 });
      }
      protected override measure({ data }: Values): MetricState {
        return { sums: Float64Array.of(data.length), lists: [Float64Array.from(data)] };
      }
      protected override valueOf({ sums, lists: [values] }: MetricState): number {
        return (Math.max(...values) - Math.min(...values)) / sums[0];
      }
    }
    const range = new Range();
    await range.update(Float32Array.of(1, 4), Float32Array.of(0));
    await range.update(Float32Array.of(7), Float32Array.of(0));
    expect(await range.compute()).toBe(2);
  });
});
