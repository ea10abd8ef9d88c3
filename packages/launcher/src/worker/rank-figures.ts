import { printable } from '@ringrun/core';
import { checkScalars } from './rank-scalars.ts';
import type { RankScalar } from './rank-scalars.ts';

/**
 * The variable with the path of the file to which a worker writes its figures. If unset, the worker writes no figures.
 */
export const figuresVariable = 'RINGRUN_FIGURES_FILE';

/** Name of that file, next to the worker's `stdout.log`. */
export const figuresFileName = 'figures.json';

/** Upper bounds of the histogram of step times, in seconds. The last bucket has no bound. */
export const stepBounds = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
] as const;

/** Work of one rank during some time. Times are seconds within epochs, so evaluation does not count. */
export interface Work {
  readonly seconds: number;
  /** The loop waited for its next batch. */
  readonly input: number;
  /** Programs ran. */
  readonly compute: number;
  /** Steps waited for a collective to end. */
  readonly waiting: number;
  readonly steps: number;
  /** Samples of this rank. 0 without a training report. */
  readonly samples: number;
}

export const noWork: Work = { seconds: 0, input: 0, compute: 0, waiting: 0, steps: 0, samples: 0 };

/** Figures of the training that only a training report has. */
export interface Progress {
  /** Name of a sample. */
  readonly unit: string;
  /** From 1. */
  readonly epoch: number;
  readonly epochs?: number;
  /** Completed steps of this epoch, and its number of steps. */
  readonly stepOfEpoch: number;
  readonly stepsOfEpoch: number;
  /** Steps of all epochs, including those before resuming. */
  readonly step: number;
  /** Loss of this rank's last batch. May be NaN or infinite. */
  readonly loss?: number;
  readonly learningRate?: number;
}

/** `paused`: between epochs, such as during an evaluation. `ended`: the training has ended on this rank. */
export type Phase = 'training' | 'paused' | 'ended';

/** The figures that one rank publishes about its training, about once a second. */
export interface RankFigures {
  readonly runId: string;
  /** Name of the job, RINGRUN_JOB_NAME. Undefined if the process has no name of its job. */
  readonly name?: string;
  readonly restartCount: number;
  readonly rank: number;
  readonly worldSize: number;
  readonly host: string;
  readonly pid: number;
  /** Milliseconds since the epoch, on the clock of the rank's host. */
  readonly writtenAt: number;
  readonly phase: Phase;
  /** Since the process started. */
  readonly total: Work;
  /** In about the last ten seconds. */
  readonly recent: Work;
  /** Number of steps per bucket of {@link stepBounds}, and one more for longer steps. */
  readonly stepCounts: readonly number[];
  /** Sum of all step times in seconds. */
  readonly stepSeconds: number;
  /** Undefined without a training report. */
  readonly progress?: Progress;
  /** What the script reports itself, in the order of the first points. Undefined without any. */
  readonly scalars?: readonly RankScalar[];
}

/** JSON has no NaN and no infinities, which a loss may be. */
export function formatFigures(figures: RankFigures): string {
  return JSON.stringify(figures, (_, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );
}

/** Checks figures that another process has written; undefined if they are incomplete. */
export function parseFigures(text: string): RankFigures | undefined {
  try {
    return checkFigures(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** `parseFigures` of a parsed text. */
export function checkFigures(value: unknown): RankFigures | undefined {
  const given = Object(value) as Record<string, unknown>;
  const [total, recent] = [checkWork(given['total']), checkWork(given['recent'])];
  const counts = given['stepCounts'];
  const numbers = pickNumbers(given, [
    'restartCount',
    'rank',
    'worldSize',
    'pid',
    'writtenAt',
    'stepSeconds',
  ] as const);
  const areCounts = Array.isArray(counts) && counts.length === stepBounds.length + 1 && counts.every(isCount);
  if (!numbers || !total || !recent || !areCounts) return undefined;
  if (!isCount(numbers.rank) || !isCount(numbers.worldSize) || numbers.rank >= numbers.worldSize)
    return undefined;
  const progress = given['progress'] === undefined ? undefined : checkProgress(given['progress']);
  const scalars = checkScalars(given['scalars']);
  const name = checkText(given['name']);
  return {
    ...numbers,
    runId: checkText(given['runId']),
    host: checkText(given['host']),
    phase: phases.find((phase) => phase === given['phase']) ?? 'training',
    total,
    recent,
    stepCounts: counts,
    ...(progress && { progress }),
    ...(name !== '' && { name }),
    ...(scalars.length > 0 && { scalars }),
  };
}

const phases: readonly Phase[] = ['training', 'paused', 'ended'];

function checkWork(value: unknown): Work | undefined {
  return pickNumbers(
    Object(value) as Record<string, unknown>,
    ['seconds', 'input', 'compute', 'waiting', 'steps', 'samples'] as const,
  );
}

function checkProgress(value: unknown): Progress | undefined {
  const given = Object(value) as Record<string, unknown>;
  const numbers = pickNumbers(given, ['epoch', 'stepOfEpoch', 'stepsOfEpoch', 'step'] as const);
  if (!numbers) return undefined;
  return {
    ...numbers,
    unit: checkText(given['unit']),
    ...(typeof given['epochs'] === 'number' && { epochs: given['epochs'] }),
    ...(given['loss'] !== undefined && { loss: Number(given['loss']) }),
    ...(given['learningRate'] !== undefined && { learningRate: Number(given['learningRate']) }),
  };
}

/** Undefined if one of them is not a finite number of at least 0. */
function pickNumbers<Name extends string>(
  given: Record<string, unknown>,
  names: readonly Name[],
): Record<Name, number> | undefined {
  const found = names.map((name) => [name, given[name]] as const);
  const areNumbers = found.every(
    ([, value]) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
  );
  return areNumbers ? (Object.fromEntries(found) as Record<Name, number>) : undefined;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

const maxCharacters = 200;

function checkText(value: unknown): string {
  return typeof value === 'string' ? printable(value, maxCharacters) : '';
}
