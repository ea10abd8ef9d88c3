import { expect, test } from 'vitest';
import { lastOf, ScalarCurves, scalarsOf } from '../../src/dashboard/scalars.ts';
import type { AgedFigures } from '../../src/dashboard/job-figures.ts';
import { viewOf } from '../../src/dashboard/job-view.ts';
import { metricsOf } from '../../src/dashboard/prometheus.ts';
import { statusOf } from '../../src/dashboard/status.ts';
import { tableOf } from '../../src/dashboard/table.ts';
import { formatFigures, parseFigures } from '../../src/worker/rank-figures.ts';
import { maxRecentPoints, maxScalars } from '../../src/worker/rank-scalars.ts';
import type { RankScalar } from '../../src/worker/rank-scalars.ts';
import { figuresOf } from './figures.ts';

const reporting = (
  scalars: readonly RankScalar[],
  { rank = 0, ...change }: Partial<AgedFigures> = {},
): AgedFigures => ({ ...figuresOf(rank, { scalars, ...change }), age: 0 });

/** A scalar after `count` points, whose value is a tenth of its step; the last ones are in the record. */
const rising = (name: string, count: number): RankScalar => {
  const length = Math.min(count, maxRecentPoints);
  const steps = Array.from({ length }, (_, i) => count - length + i + 1);
  return { name, count, points: steps.map((step) => [step, step / 10] as const) };
};

const pointsOf = (curves: ScalarCurves, name: string) =>
  curves.list.find((one) => one.name === name)?.points.map(([step]) => step);

test('scalars survive the file, NaN included', () => {
  const figures = figuresOf(0, {
    name: 'train.ts',
    scalars: [
      {
        name: 'test/accuracy',
        count: 3,
        points: [
          [-1, 0.5],
          [7, NaN],
        ],
      },
    ],
  });
  expect(parseFigures(formatFigures(figures))).toEqual(figures);
});

test.each([
  ['no list', 7],
  ['no name', [{ count: 1, points: [[1, 2]] }]],
  ['a negative count', [{ name: 'a', count: -1, points: [[1, 2]] }]],
  ['no points', [{ name: 'a', count: 1, points: [] }]],
  ['a step that is not an integer', [{ name: 'a', count: 1, points: [[1.5, 2]] }]],
])('%s leaves the rest of the figures', (_, scalars) => {
  const text = JSON.stringify({ ...figuresOf(0), scalars });
  expect(parseFigures(text)).toEqual(figuresOf(0));
});

test('a record is cut to 64 printable names and their last ten points', () => {
  const scalars = Array.from({ length: 1000 }, (_, i) => rising(`${i}\x1b[2J${'x'.repeat(1000)}`, 50));
  const read = parseFigures(formatFigures(figuresOf(0, { scalars })))!.scalars!;
  expect(read).toHaveLength(maxScalars);
  expect(read[0].name).toMatch(/^0\\x1b\[2Jx+…?$/);
  expect(Math.max(...read.map(({ name }) => name.length))).toBeLessThan(210);
  expect(new Set(read.map(({ points }) => points.length))).toEqual(new Set([maxRecentPoints]));
});

test('the lowest rank that reports a scalar supplies it', () => {
  const ranks = [
    reporting([rising('loss/d', 1)]),
    reporting([rising('loss/g', 3), rising('loss/d', 2)], { rank: 1 }),
  ];
  expect(scalarsOf(ranks).map(lastOf)).toEqual([
    { name: 'loss/d', step: 1, value: 0.1 },
    { name: 'loss/g', step: 3, value: 0.3 },
  ]);
});

test('a curve has each point once, however often its record is read', () => {
  const curves = new ScalarCurves();
  for (const count of [3, 3, 8, 8, 17]) curves.extend([reporting([rising('accuracy', count)])]);
  expect(pointsOf(curves, 'accuracy')).toEqual(Array.from({ length: 17 }, (_, i) => i + 1));
  expect(curves.list[0]).toMatchObject({ name: 'accuracy', step: 17, value: 1.7 });
});

test('a step that is reported again has its last value, and one that is not finite no point', () => {
  const curves = new ScalarCurves();
  const points = [
    [1, 1],
    [1, 2],
    [2, NaN],
  ] as const;
  curves.extend([reporting([{ name: 'a', count: 3, points }])]);
  expect(curves.list).toEqual([{ name: 'a', step: 2, value: null, points: [[1, 2]] }]);
});

test('a restarted process replaces the points after its checkpoint', () => {
  const curves = new ScalarCurves();
  curves.extend([reporting([rising('a', 9)])]);
  curves.extend([]);
  expect(pointsOf(curves, 'a')).toHaveLength(9);
  const resumed: RankScalar = { name: 'a', count: 1, points: [[6, 0]] };
  curves.extend([reporting([resumed], { restartCount: 1, pid: 7 })]);
  expect(pointsOf(curves, 'a')).toEqual([1, 2, 3, 4, 5, 6]);
});

test('a curve has at most 200 points, and covers the whole training', () => {
  const curves = new ScalarCurves();
  for (let count = 5; count <= 20_000; count += 5) curves.extend([reporting([rising('a', count)])]);
  const steps = pointsOf(curves, 'a')!;
  expect(steps.length).toBeLessThanOrEqual(200);
  expect(steps.length).toBeGreaterThan(90);
  expect([steps[0], steps.at(-1)]).toEqual([1, expect.closeTo(20_000, -3)]);
});

test('64 names are kept, new ones replace those of earlier rounds, and the others are counted', () => {
  const curves = new ScalarCurves();
  const named = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => rising(`${prefix}${i}`, 1));
  const names = () => curves.list.map(({ name }) => name);
  curves.extend([reporting(named('a', 60)), reporting(named('b', 10), { rank: 1 })]);
  expect([names().length, curves.left, names().at(-1)]).toEqual([64, 6, 'b3']);
  curves.extend([reporting(named('c', 50), { restartCount: 1 })]);
  expect([names().length, curves.left]).toEqual([64, 0]);
  expect(names().filter((name) => name.startsWith('c'))).toHaveLength(50);
});

test('/metrics has the last value of each rank, with the name as an escaped label', () => {
  const scalars = [rising('a"b', 2), { name: 'gap', count: 1, points: [[1, NaN]] as const }];
  const ranks = [reporting(scalars), reporting([rising('a"b', 5)], { rank: 1 })];
  const text = metricsOf({ runId: 'job', restartCount: 0, worldSize: 2, ranks, events: [] });
  expect(text.split('\n').filter((line) => line.startsWith('ringrun_scalar'))).toEqual([
    'ringrun_scalar{rank="0",host="host0",name="a\\"b"} 0.2',
    'ringrun_scalar{rank="0",host="host0",name="gap"} NaN',
    'ringrun_scalar{rank="1",host="host1",name="a\\"b"} 0.5',
  ]);
  expect(text).toContain('# TYPE ringrun_scalar gauge\n');
});

test('ringrun top shows the name of the job and its first scalars', () => {
  const scalars = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => rising(name, 3));
  const job = { runId: 'id', name: 'train.ts', restartCount: 0, worldSize: 1, events: [] };
  const lines = tableOf(statusOf(viewOf({ ...job, ranks: [reporting(scalars)] })));
  expect(lines[0]).toBe('ringrun: job id (train.ts): 1 rank');
  expect(lines[2]).toBe('a 0.3   b 0.3   c 0.3   d 0.3   … 2 more scalars');
});
