import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { emptyCurve, extended } from '../../src/dashboard/curve.ts';
import type { Curve } from '../../src/dashboard/curve.ts';
import { WorkRecorder } from '../../../runtime/src/report/figures-recorder.ts';
import { FigureAges, newestJob } from '../../src/dashboard/job-figures.ts';
import type { JobFigures } from '../../src/dashboard/job-figures.ts';
import { viewOf } from '../../src/dashboard/job-view.ts';
import { metricsOf } from '../../src/dashboard/prometheus.ts';
import { formatFigures, parseFigures } from '../../src/worker/rank-figures.ts';
import type { RankFigures } from '../../src/worker/rank-figures.ts';
import { statusOf } from '../../src/dashboard/status.ts';
import { tableOf } from '../../src/dashboard/table.ts';
import { registry } from '@ringrun/core';
import { figuresOf, figuresWithoutReport } from './figures.ts';

function jobOf(ranks: readonly RankFigures[], wall = 1_001_000): JobFigures {
  return newestJob(ranks, [], agedAt(wall))!;
}

/** Figures as they are read for the first time. */
function agedAt(wall: number) {
  return (figures: RankFigures) => new FigureAges().withAge(figures, { now: 0, wall });
}

/** Rank 1 waited for 0.5 s of its 10 s, rank 0 for 2 s. */
const slow = figuresOf(1, { recent: { ...figuresOf(1).recent, waiting: 0.5 } });

describe('the figures of a rank', () => {
  test('count work within epochs only', () => {
    const work = new WorkRecorder();
    const before = { ...registry.activityTotals };
    work.resume(1000);
    registry.activityTotals.waiting += 300;
    work.step(8, 1500);
    work.step(8, 1502);
    work.pause(2000);
    registry.activityTotals.waiting += 5000;
    work.resume(9000);
    registry.activityTotals.waiting += 100;
    const { total, stepCounts, stepSeconds } = work.take(9500);
    Object.assign(registry.activityTotals, before);
    expect(total).toMatchObject({ seconds: 1.5, steps: 2, samples: 16, compute: 0 });
    expect(total.waiting).toBeCloseTo(0.4, 9);
    // One step of 500 ms and one of 2 ms.
    expect(stepCounts).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    expect(stepSeconds).toBeCloseTo(0.502, 9);
  });

  test('recent work covers ten points', () => {
    const work = new WorkRecorder();
    work.resume(0);
    const steps = Array.from({ length: 15 }, (_, second) => {
      work.step(1, 1000 * (second + 1));
      return work.take(1000 * (second + 1)).recent.steps;
    });
    expect(steps.slice(0, 3)).toEqual([1, 2, 3]);
    expect(steps.at(-1)).toBe(10);
  });

  test.each([0.25, NaN, Infinity])('a loss of %s survives the file', (loss) => {
    const figures = figuresOf(0, { progress: { ...figuresOf(0).progress!, loss } });
    expect(parseFigures(formatFigures(figures))).toEqual(figures);
  });

  test.each([
    ['no JSON', '{"rank":'],
    ['a rank beyond the world size', formatFigures(figuresOf(0, { rank: 2 }))],
    ['a negative rank', formatFigures(figuresOf(0, { rank: -1 }))],
    ['too few buckets', formatFigures(figuresOf(0, { stepCounts: [1] }))],
    ['an array', '[]'],
    ['null', 'null'],
  ])('%s is refused', (_, text) => {
    expect(parseFigures(text)).toBeUndefined();
  });

  test('a host name cannot move the cursor', () => {
    expect(parseFigures(formatFigures(figuresOf(0, { host: 'a\x1b[2J' })))?.host).toBe('a\\x1b[2J');
  });
});

describe('the view', () => {
  test('names the rank that the others wait for, and adds up the rates', () => {
    const view = viewOf(jobOf([figuresOf(0), slow]));
    expect(view.slowest).toEqual({ rank: 1, host: 'host1', waited: 0.5, othersWaited: 2 });
    expect(view).toMatchObject({ rate: 160, loss: 0.5, stepSeconds: 0.1, missing: [], hasEnded: false });
    expect(view.ranks[1]).toMatchObject({ state: 'training', input: 0.1, compute: 0.6, waiting: 0.05 });
  });

  test('names no rank in the first three seconds', () => {
    const early = [figuresOf(0), slow].map((one) => ({ ...one, recent: { ...one.recent, seconds: 2.9 } }));
    expect(viewOf(jobOf(early)).slowest).toBeUndefined();
  });

  test('names no rank if all wait equally long', () => {
    expect(viewOf(jobOf([figuresOf(0), figuresOf(1)])).slowest).toBeUndefined();
  });

  test('a rank is silent after 10 s, but not between epochs', () => {
    const states = (phase: 'training' | 'paused', now: number) =>
      viewOf(jobOf([figuresOf(0, { phase })], now)).ranks.map(({ state }) => state);
    expect(states('training', 1_009_900)).toEqual(['training']);
    expect(states('training', 1_010_100)).toEqual(['silent']);
    expect(states('paused', 1_900_000)).toEqual(['paused']);
  });

  test('lists ranks without figures, and drops those of another round and another run', () => {
    const ranks = [
      figuresOf(0, { restartCount: 1, writtenAt: 2_000_000 }),
      figuresOf(1),
      figuresOf(1, { runId: 'before', restartCount: 1, writtenAt: 1_900_000 }),
    ];
    const view = viewOf(jobOf(ranks, 2_001_000));
    expect(view).toMatchObject({ runId: 'job', restartCount: 1, missing: [1] });
    expect(view.ranks.map(({ rank }) => rank)).toEqual([0]);
  });

  test('without a training report there is no loss and no rate', () => {
    const bare = parseFigures(formatFigures(figuresWithoutReport(0)))!;
    const view = viewOf(jobOf([bare]));
    expect([view.loss, view.rate, view.ranks[0].waiting]).toEqual([undefined, undefined, 0.2]);
    expect(metricsOf(jobOf([bare]))).not.toContain('ringrun_samples_total');
  });

  test('a curve covers the whole training with at most 400 points', () => {
    let curve: Curve = emptyCurve;
    for (let step = 1; step <= 100_000; step += 1) curve = extended(curve, { step, loss: 1 / step, rate: 1 });
    expect(curve.points.length).toBeLessThanOrEqual(400);
    expect(curve.points.length).toBeGreaterThan(150);
    expect([curve.points[0].step, curve.points.at(-1)!.step]).toEqual([1, expect.closeTo(100_000, -4)]);
  });

  test('a restarted job replaces the points after its checkpoint', () => {
    let curve: Curve = emptyCurve;
    for (const step of [10, 20, 30, 20, 40]) curve = extended(curve, { step, loss: step, rate: 1 });
    expect(curve.points.map(({ step }) => step)).toEqual([10, 20, 40]);
  });
});

describe('the table', () => {
  test('has a line per rank, the slowest rank and the last events', () => {
    const events = [{ at: 0, what: 'rank 1 on host host1: killed by SIGKILL' }];
    const view = viewOf({ ...jobOf([figuresOf(0), slow]), events });
    expect(tableOf(statusOf(view))).toEqual([
      'ringrun: job job: 2 ranks',
      'epoch 2/4   step 50/100   loss 0.5000   160 images/s   step 100.0 ms',
      '',
      'rank  host   state     steps  images/s      step  input  compute  waiting',
      '   0  host0  training    100        80  100.0 ms  10.0%    60.0%    20.0%',
      '   1  host1  training    100        80  100.0 ms  10.0%    60.0%     5.0%',
      '',
      'slowest: rank 1 on host1, which waited 0.50 s, the others 2.00 s on average',
      '00:00:00 rank 1 on host host1: killed by SIGKILL',
    ]);
  });

  test('fits the terminal, and keeps the slowest of many ranks', () => {
    const worldSize = 500;
    const ranks = Array.from({ length: worldSize }, (_, rank) =>
      figuresOf(rank, {
        worldSize,
        recent: { ...figuresOf(0).recent, waiting: rank === 317 ? 0.1 : 2 },
      }),
    );
    const status = statusOf(viewOf(jobOf(ranks)));
    expect(status.ranks.some(({ rank }) => rank === 317)).toBe(true);
    const lines = tableOf(status, 20);
    expect(lines.length).toBeLessThanOrEqual(20);
    expect(lines.join('\n')).toMatch(/… 4\d\d more ranks\n/);
  });
});

describe("Prometheus's text", () => {
  const text = metricsOf(
    jobOf([figuresOf(0, { host: 'a"b\\c', progress: { ...figuresOf(0).progress!, loss: NaN } }), slow]),
  );

  test('has HELP and TYPE once per family, escaped labels and cumulative buckets', () => {
    expect(text).toContain('ringrun_loss{rank="0",host="a\\"b\\\\c"} NaN\n');
    expect(text).toContain('ringrun_samples_total{rank="1",host="host1"} 800\n');
    const buckets = [...text.matchAll(/_bucket\{rank="1",host="host1",le="(.+)"\} (\d+)/g)];
    expect(buckets.map(([, le, count]) => [le, count]).slice(5, 8)).toEqual([
      ['0.05', '0'],
      ['0.1', '100'],
      ['0.25', '100'],
    ]);
    expect(buckets.at(-1)!.slice(1)).toEqual(['+Inf', '100']);
    expect(text).toContain('ringrun_step_seconds_count{rank="1",host="host1"} 100\n');
  });

  test('each line follows the grammar of format 0.0.4, within its family', () => {
    const seen: string[] = [];
    let family = { name: '', type: '' };
    for (const line of text.trimEnd().split('\n')) {
      const help = /^# HELP ([a-z_]+) \S.*\.$/.exec(line);
      const type = /^# TYPE ([a-z_]+) (gauge|counter|histogram)$/.exec(line);
      if (help) {
        expect(seen).not.toContain(help[1]);
        seen.push(help[1]);
      } else if (type) {
        expect(type[1]).toBe(seen.at(-1));
        family = { name: type[1], type: type[2] };
        expect(family.name.endsWith('_total')).toBe(family.type === 'counter');
      } else {
        const sample =
          /^([a-z_]+)(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? (?:NaN|[+-]Inf|-?[\d.e+-]+)$/.exec(
            line,
          );
        const names = family.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
        expect(
          names.map((end) => family.name + end),
          line,
        ).toContain(sample?.[1]);
      }
    }
    expect(seen).toEqual(expect.arrayContaining(['ringrun_step_seconds', 'ringrun_waiting_seconds_total']));
  });

  const python = process.env['RINGRUN_PROMETHEUS_PYTHON'] ?? 'python3';
  const read = 'import sys, json; from prometheus_client.parser import text_string_to_metric_families as f; ';
  const hasClient = (() => {
    try {
      execFileSync(python, ['-c', read], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  })();

  // Needs `pip install prometheus_client`.
  test.skipIf(!hasClient)('prometheus_client reads every value', () => {
    const program = `${read}print(json.dumps([[s.name, s.labels, repr(s.value)] for m in f(sys.stdin.read()) for s in m.samples]))`;
    const samples = JSON.parse(
      execFileSync(python, ['-c', program], { input: text, encoding: 'utf8' }),
    ) as unknown[];
    expect(samples).toHaveLength(
      text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length,
    );
    expect(samples).toContainEqual(['ringrun_loss', { rank: '0', host: 'a"b\\c' }, 'nan']);
    expect(samples).toContainEqual(['ringrun_step_seconds_sum', { rank: '1', host: 'host1' }, '9.5']);
  });
});

test('ages follow the monotonic clock after the first reading, and are never negative', () => {
  const ages = new FigureAges();
  const ageOf = (writtenAt: number, now: number, wall: number) =>
    ages.withAge(figuresOf(0, { writtenAt }), { now, wall }).age;
  expect(ageOf(1_000_000, 0, 1_001_000)).toBe(1);
  expect(ageOf(1_000_000, 2000, 1_003_000)).toBe(3);
  // The wall clock is set forward, then back.
  expect(ageOf(1_000_000, 3000, 9_000_000)).toBe(4);
  expect(ageOf(5_000, 4000, 6_000)).toBe(0);
  expect(ageOf(5_000, 9000, 0)).toBe(5);
  expect(new FigureAges().withAge(figuresOf(0), { now: 7, wall: 0 }).age).toBe(0);
});

test('the last attempt of a run is shown, and events keep their order, if the clock was set back', () => {
  const ranks = [figuresOf(0, { writtenAt: 9_000_000 }), figuresOf(0, { restartCount: 1, writtenAt: 5000 })];
  const first = { at: 9_000_000, what: 'rank 0 failed' };
  const second = { at: 5000, what: 'restarting the workers' };
  // The second node joined late. Another run is older.
  const before = { at: 1000, what: 'before' };
  const job = newestJob(ranks, [[second], [first, second], [], [before]], agedAt(6000))!;
  expect(job.restartCount).toBe(1);
  expect(job.events).toEqual([before, first, second]);
});
