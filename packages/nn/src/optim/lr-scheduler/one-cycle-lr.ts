import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { requirePositiveInteger, requireAtLeastZero, requireFraction } from '../../checks/require-number.ts';
import type { Optimizer } from '../optimizer.ts';
import { forEachGroup, hasMomentum, LRScheduler, type Schedule } from './lr-scheduler.ts';
import { requireOneOf } from '../../checks/require-one-of.ts';

/** Options of {@link OneCycleLR}. Requires either `totalSteps` or both `epochs` and `stepsPerEpoch`. */
export interface OneCycleLROptions {
  /** Steps of the whole cycle. Default: `epochs` · `stepsPerEpoch`. */
  totalSteps?: number;
  /** Number of epochs of the cycle. */
  epochs?: number;
  /** Steps in an epoch. */
  stepsPerEpoch?: number;
  /** Fraction of the cycle during which the rate rises. Default: 0.3. */
  pctStart?: number;
  /** Interpolation between rates. Default: 'cos'. */
  annealStrategy?: 'cos' | 'linear';
  /** If true, cycles momentum (or the first beta) inversely to the rate. Default: true. */
  cycleMomentum?: boolean;
  /** Momentum at the highest rate, for all groups or per group. Default: 0.85. */
  baseMomentum?: number | readonly number[];
  /** Momentum at the start and the end, for all groups or per group. Default: 0.95. */
  maxMomentum?: number | readonly number[];
  /** The first rate is maxLr / divFactor. Default: 25. */
  divFactor?: number;
  /** The last rate is the first rate / finalDivFactor. Default: 10,000. */
  finalDivFactor?: number;
  /** If true, the rate falls to the first rate as fast as it rose, then to the last in a third phase. Default: false. */
  threePhase?: boolean;
}

/**
 * Raises the rate to `maxLr`, then lowers it far below its initial value, once (torch.optim.lr_scheduler.OneCycleLR). Call `step`
 * after every batch. The groups' own rates are replaced.
 */
export class OneCycleLR extends LRScheduler {
  /** - `maxLr`: the highest rate, for all groups or per group */
  constructor(
    ...given: Call<
      [optimizer: Optimizer, maxLr: number | readonly number[], options?: OneCycleLROptions | undefined],
      'optim.lrScheduler.OneCycleLR'
    >
  ) {
    const [optimizer, maxLr, options] = arranged('optim.lrScheduler.OneCycleLR', given);
    const { cycleMomentum = true, baseMomentum = 0.85, maxMomentum = 0.95 } = options;
    const { divFactor = 25, finalDivFactor = 1e4 } = options;
    const highest = forEachGroup('OneCycleLR', optimizer, maxLr);
    const slowest = forEachGroup('OneCycleLR', optimizer, baseMomentum);
    const fastest = forEachGroup('OneCycleLR', optimizer, maxMomentum);
    highest.forEach((rate) => {
      requireAtLeastZero('OneCycleLR', { maxLr: rate });
    });
    requireAtLeastZero('OneCycleLR', { divFactor, finalDivFactor });
    const curve = curveOf(options);
    if (cycleMomentum && !hasMomentum(optimizer)) {
      throw new ArgumentError(
        'OneCycleLR: expected an optimizer with momentum or betas. Pass cycleMomentum: false for this one.',
      );
    }
    const first = highest.map((rate) => rate / divFactor);
    for (const [group, settings] of optimizer.paramGroups.entries()) settings.initialLr = first[group];
    const rate: Schedule = ({ epoch, group }) =>
      curve(epoch, { first: first[group], middle: highest[group], last: first[group] / finalDivFactor });
    const momentum: Schedule = ({ epoch, group }) =>
      curve(epoch, { first: fastest[group], middle: slowest[group], last: fastest[group] });
    super(optimizer, rate, cycleMomentum ? momentum : undefined);
  }
}

/** Values at the start of the cycle, at the highest rate, and at the end. */
interface Corners {
  readonly first: number;
  readonly middle: number;
  readonly last: number;
}

/** Interpolates from one corner to another. */
interface Phase {
  readonly end: number;
  readonly from: keyof Corners;
  readonly to: keyof Corners;
}

type Curve = (step: number, corners: Corners) => number;

function curveOf(options: OneCycleLROptions): Curve {
  const { pctStart = 0.3, annealStrategy = 'cos', threePhase = false } = options;
  const totalSteps = totalStepsOf(options);
  requireFraction('OneCycleLR', { pctStart });
  requireOneOf('OneCycleLR', 'annealStrategy', annealStrategy, Object.keys(strategies));
  const anneal = strategies[annealStrategy];
  const phases = phasesOf(pctStart, totalSteps, threePhase);
  return (step, corners) => {
    if (step > totalSteps) {
      throw new ArgumentError(
        `OneCycleLR: expected at most ${totalSteps} steps, got step ${step}. Increase totalSteps, or epochs and stepsPerEpoch.`,
      );
    }
    const found = phases.findIndex(({ end }) => step <= end);
    const position = found === -1 ? phases.length - 1 : found;
    const { end, from, to } = phases[position];
    const start = position === 0 ? 0 : phases[position - 1].end;
    // Avoids 0/0 in a phase of length 0.
    const part = end === start ? 1 : (step - start) / (end - start);
    return anneal(corners[from], corners[to], part);
  };
}

/** Steps are counted from 0: a phase of n steps ends at n − 1. */
function phasesOf(pctStart: number, totalSteps: number, threePhase: boolean): readonly Phase[] {
  const rise: Phase = { end: pctStart * totalSteps - 1, from: 'first', to: 'middle' };
  const end = totalSteps - 1;
  if (!threePhase) return [rise, { end, from: 'middle', to: 'last' }];
  const fall: Phase = { end: 2 * pctStart * totalSteps - 2, from: 'middle', to: 'first' };
  return [rise, fall, { end, from: 'first', to: 'last' }];
}

const strategies = {
  cos: (from: number, to: number, part: number) => to + ((from - to) / 2) * (Math.cos(Math.PI * part) + 1),
  linear: (from: number, to: number, part: number) => (to - from) * part + from,
} as const;

function totalStepsOf({ totalSteps, epochs, stepsPerEpoch }: OneCycleLROptions): number {
  if (totalSteps !== undefined) {
    requirePositiveInteger('OneCycleLR', { totalSteps });
    return totalSteps;
  }
  if (epochs === undefined || stepsPerEpoch === undefined) {
    throw new ArgumentError('OneCycleLR: expected totalSteps, or epochs and stepsPerEpoch.');
  }
  requirePositiveInteger('OneCycleLR', { epochs, stepsPerEpoch });
  return epochs * stepsPerEpoch;
}
