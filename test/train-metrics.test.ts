import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { Scenarios, type ScenarioJob } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

interface Case {
  readonly metric: string;
  readonly options: object;
  readonly inputs: string;
  readonly value: readonly number[];
}

const { cases } = JSON.parse(readFileSync(new URL('golden/metrics.json', import.meta.url), 'utf8')) as {
  readonly cases: readonly Case[];
};

const scenarios = new Scenarios(builtScript('train-metrics.script'), temporaryFolder());
const titleOf = ({ metric, options, inputs }: Case) => `${metric} ${JSON.stringify(options)} of ${inputs}`;
/** Five digits, because torchmetrics computes in float32. */
const near = (value: number): unknown =>
  expect.closeTo(value, 5 - Math.ceil(Math.log10(Math.max(1, Math.abs(value)))));

describe.each([1, 2, 3])('on %d ranks with uneven shares', (ranks) => {
  let job: ScenarioJob | undefined;
  const results = <Result>(scenario: string) => {
    job ??= scenarios.job(ranks, ['golden', 'collection', 'large']);
    return job.of<Result>(scenario);
  };

  test('metrics have the values of torchmetrics, and the same bits on each rank', async () => {
    const [first, ...others] = await results<number[][]>('golden');
    const found = cases.map((one, index) => ({ title: titleOf(one), value: first[index] }));
    expect(found).toEqual(cases.map((one) => ({ title: titleOf(one), value: one.value.map(near) })));
    for (const other of others) expect(other).toEqual(first);
  });

  test('a collection has the values of its metrics, and again after reset', async () => {
    const [[first, second]] = await results<Record<string, number[]>[]>('collection');
    const expected = cases.flatMap((one, index) =>
      one.inputs === 'logits' ? [[`val/case${index}`, one.value.map(near)] as const] : [],
    );
    expect(expected.length).toBeGreaterThan(20);
    expect(first).toEqual(Object.fromEntries(expected));
    expect(second).toEqual(first);
  });

  test('counts above 2^24 are exact', async () => {
    const weights = Array.from({ length: ranks }, (_, rank) => 2 ** 25 + rank);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const mean = weights.reduce((sum, weight, rank) => sum + rank * weight, 0) / total;
    for (const found of await results('large')) expect(found).toEqual({ sum: ranks * (2 ** 24 + 1), mean });
  });
});
