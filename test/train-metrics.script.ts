// The metrics of @ringrun/train on one rank's share of the inputs of golden/metrics.json: see train-metrics.test.ts.
import { readFileSync } from 'node:fs';
import { tensor } from '@ringrun/nn';
import * as train from '@ringrun/train';
import { getRank, getWorldSize } from 'ringrun';
import { runScenario } from './fixtures/run-scenario.ts';

interface Stored {
  readonly dtype: 'float32' | 'int64';
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

interface Case {
  readonly metric: string;
  readonly options: object;
  readonly inputs: string;
}

interface Golden {
  readonly inputs: Readonly<Record<string, readonly [predictions: Stored, target: Stored]>>;
  readonly cases: readonly Case[];
}

type Result = number | Float64Array | train.MetricValues;

const golden = JSON.parse(readFileSync(new URL('../golden/metrics.json', import.meta.url), 'utf8')) as Golden;

const metrics = train as unknown as Record<string, new (options: object) => train.Metric<Result>>;

/**
 * Rows of each batch of this rank. With several ranks, the first has no batch, and the last has the most; batches have
 * enough rows for logits outside of [0, 1], because each batch decides whether it has logits.
 */
function batchesOf(rows: number): [start: number, end: number][] {
  const [rank, ranks] = [getRank(), getWorldSize()];
  const cuts = ranks === 1 ? [0, rows] : ranks === 2 ? [0, 9, rows] : [0, 0, 11, rows];
  const [start, end] = [cuts[rank], cuts[rank + 1]];
  const middle = start + Math.min(9, end - start);
  return [[start, middle] as [number, number], [middle, end] as [number, number]].filter(
    ([from, until]) => until > from,
  );
}

/** Rows of an input, as a tensor of nn, as an array with a shape or, of one dimension, as a typed array. */
function rowsOf({ dtype, shape, data }: Stored, start: number, end: number, form: number): train.MetricInput {
  const width = data.length / shape[0];
  const part = data.slice(start * width, end * width);
  const array = dtype === 'float32' ? Float32Array.from(part) : BigInt64Array.from(part, BigInt);
  const shapeOfPart = [end - start, ...shape.slice(1)];
  if (form % 3 === 0) return tensor(array, shapeOfPart);
  return form % 3 === 1 && shape.length === 1 ? array : { data: array, shape: shapeOfPart };
}

async function updateAll(
  metric: Pick<train.Metric<unknown>, 'update'>,
  { metric: name, inputs }: Case,
  form: number,
): Promise<void> {
  const [predictions, target] = golden.inputs[inputs];
  for (const [start, end] of batchesOf(target.shape[0])) {
    const given = [predictions, target].map((one) => rowsOf(one, start, end, form));
    const used = name === 'SumMetric' ? given.slice(0, 1) : given;
    await metric.update(...(used as [train.MetricInput, train.MetricInput]));
  }
}

const elementsOf = (value: Result): number[] =>
  typeof value === 'number' ? [value] : Array.from(value instanceof Float64Array ? value : value.data);

await runScenario({
  golden: async () => {
    const values: number[][] = [];
    for (const [form, one] of golden.cases.entries()) {
      const metric = new metrics[one.metric](one.options);
      await updateAll(metric, one, form);
      values.push(elementsOf(await metric.compute()));
    }
    return values;
  },
  /** All cases of one input as a collection, computed, reset, and computed for a part. */
  collection: async () => {
    const cases = golden.cases
      .map((one, index) => ({ ...one, index }))
      .filter(({ inputs }) => inputs === 'logits');
    const named = cases.map(({ metric, options, index }) => [`case${index}`, new metrics[metric](options)]);
    const collection = new train.MetricCollection(
      Object.fromEntries(named) as Record<string, train.Metric<Result>>,
      { prefix: 'val/' },
    );
    const values: Record<string, number[]>[] = [];
    for (let round = 0; round < 2; round += 1) {
      await updateAll(collection, cases[0], round);
      const found = Object.entries(await collection.compute());
      values.push(Object.fromEntries(found.map(([name, value]) => [name, elementsOf(value)])));
      collection.reset();
    }
    return values;
  },
  /** Counts that float32 does not hold: 2^24 + 1 on each rank. */
  large: async () => {
    const sum = new train.SumMetric();
    await sum.update(2 ** 24);
    await sum.update(Float64Array.of(1));
    const mean = new train.MeanMetric();
    await mean.update(getRank(), 2 ** 25 + getRank());
    return { sum: await sum.compute(), mean: await mean.compute() };
  },
});
