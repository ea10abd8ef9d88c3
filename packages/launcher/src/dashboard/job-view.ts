import type { JobEvent } from '@ringrun/rendezvous/rounds';
import { slowestRank, type SlowestRank } from '../worker/slowest-rank.ts';
import type { Point } from './curve.ts';
import { lastOf, scalarsOf } from './scalars.ts';
import type { Scalar } from './scalars.ts';
import type { AgedFigures, JobFigures } from './job-figures.ts';
import type { Phase } from '../worker/rank-figures.ts';

/** A rank that has published nothing for this many seconds, and for this many of its steps, is silent. */
const silentAfter = { seconds: 10, steps: 5 };

/** The first steps compile and connect, so they do not show which rank is slow. */
const minSeconds = 3;

/** The view of a job on the page and in `ringrun top`. */
export interface JobView {
  readonly runId: string;
  /** Name of the job; undefined if it has none. */
  readonly name: string | undefined;
  readonly restartCount: number;
  readonly worldSize: number;
  readonly unit: string;
  readonly progress:
    { epoch: number; epochs?: number; step: number; stepOfEpoch: number; stepsOfEpoch: number } | undefined;
  /** Mean of the ranks' last batches; undefined without a training report, null if it is not finite. */
  readonly loss: number | null | undefined;
  readonly learningRate: number | undefined;
  /** Samples per second of all ranks; undefined without a training report. */
  readonly rate: number | undefined;
  /** Mean seconds of a step in the last ten seconds. */
  readonly stepSeconds: number | undefined;
  /** Whether all ranks that have published figures have ended. */
  readonly hasEnded: boolean;
  /** Undefined if no rank is slow. */
  readonly slowest: SlowestRank | undefined;
  readonly ranks: readonly RankView[];
  /** Ranks without figures. */
  readonly missing: readonly number[];
  readonly events: readonly JobEvent[];
  /** What the script reports itself: the last values, each of the lowest rank that reports it. */
  readonly scalars: readonly Scalar[];
}

export interface RankView {
  readonly rank: number;
  readonly host: string;
  readonly pid: number;
  /** `silent`: it is training, but has not completed a step for a long time. */
  readonly state: Phase | 'silent';
  /** Seconds since its last figures. */
  readonly age: number;
  readonly steps: number;
  /** Samples per second of this rank. */
  readonly rate: number | undefined;
  readonly stepSeconds: number | undefined;
  /** Shares of the last ten seconds, from 0 to 1. */
  readonly input: number;
  readonly compute: number;
  readonly waiting: number;
}

/** Pure: the view of a job's figures. */
export function viewOf({ runId, name, restartCount, worldSize, ranks, events }: JobFigures): JobView {
  const views = ranks.map(rankView);
  const measured = ranks.filter(
    ({ recent }, i) => views[i].state !== 'silent' && recent.seconds >= minSeconds,
  );
  const furthest = ranks.find(({ progress }) => progress !== undefined)?.progress;
  const rates = views.map(({ rate }) => rate).filter((rate) => rate !== undefined);
  const known = new Set(ranks.map(({ rank }) => rank));
  return {
    runId,
    name,
    restartCount,
    worldSize,
    unit: furthest?.unit ?? 'samples',
    progress: furthest,
    loss: meanLoss(ranks),
    learningRate: furthest?.learningRate,
    rate: rates.length > 0 ? rates.reduce((sum, rate) => sum + rate, 0) : undefined,
    stepSeconds: mean(views.map(({ stepSeconds }) => stepSeconds).filter((one) => one !== undefined)),
    hasEnded: ranks.length > 0 && ranks.every(({ phase }) => phase === 'ended'),
    slowest: slowestRank(measured.map(({ rank, host, recent }) => ({ rank, host, ...recent }))),
    ranks: views,
    missing: Array.from({ length: worldSize }, (_, rank) => rank).filter((rank) => !known.has(rank)),
    events,
    scalars: scalarsOf(ranks).map(lastOf),
  };
}

/** The point of the curves at the view's time; undefined before the first step of a training report. */
export function pointOf({ progress, loss, rate }: JobView): Point | undefined {
  if (progress === undefined || typeof loss !== 'number') return undefined;
  return { step: progress.step, loss, rate: rate ?? 0 };
}

function rankView(figures: AgedFigures): RankView {
  const { rank, host, pid, age, phase, total, recent, progress } = figures;
  const stepSeconds = recent.steps > 0 ? recent.seconds / recent.steps : undefined;
  const share = (part: number) => (recent.seconds > 0 ? Math.min(1, part / recent.seconds) : 0);
  const maxAge = Math.max(silentAfter.seconds, silentAfter.steps * (stepSeconds ?? 0));
  return {
    rank,
    host,
    pid,
    state: phase === 'training' && age > maxAge ? 'silent' : phase,
    age,
    steps: total.steps,
    rate: progress !== undefined && recent.seconds > 0 ? recent.samples / recent.seconds : undefined,
    stepSeconds,
    input: share(recent.input),
    compute: share(recent.compute),
    waiting: share(recent.waiting),
  };
}

function meanLoss(ranks: readonly AgedFigures[]): number | null | undefined {
  const loss = mean(ranks.map(({ progress }) => progress?.loss).filter((one) => one !== undefined));
  return loss === undefined || Number.isFinite(loss) ? loss : null;
}

function mean(values: readonly number[]): number | undefined {
  return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : undefined;
}
