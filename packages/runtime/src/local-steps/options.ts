import { InvalidArgumentError, requireChoice, requireInteger, requireOptions } from '@ringrun/core';
import type { CommHook, DistributedDataParallelOptions, OptionNames } from '@ringrun/core';
import { allReduce, bf16Compress, int4Compress, int8Compress } from '../ddp/hooks/index.ts';
import type { Islands } from './islands.ts';
import type { OuterOptimizerOptions } from './outer-optimizer.ts';

/** The form in which differences of parameters are sent between islands. */
export type Transport = 'float32' | 'bf16' | 'int8' | 'int4';

/** Options of {@link LocalSGD}. All except `onMembershipChange` must be equal on all ranks. */
export interface LocalSGDOptions extends Pick<
  DistributedDataParallelOptions,
  'processGroup' | 'broadcastBuffers' | 'faultTolerance' | 'minRanks' | 'onMembershipChange'
> {
  /** Steps of the optimizer between two exchanges. Default: 8 for `LocalSGD`, 100 for `DiLoCo`. */
  innerSteps?: number;
  /**
   * Number of first steps in which all ranks average their gradients, as DistributedDataParallel does; local steps follow
   * (torch: `warmup_steps` of PeriodicModelAverager, `start_localSGD_iter` of PostLocalSGDState). Default: 0.
   */
  warmupSteps?: number;
  /**
   * Form in which the differences are sent: exact, or compressed with error feedback as by the hooks of `commHooks`. Default:
   * `'float32'`.
   */
  transport?: Transport;
  /** Ranks that average every step, as `formIslands` returns them. Default: each rank trains for itself. */
  islands?: Islands;
}

/** Options of {@link DiLoCo}. All except `onMembershipChange` must be equal on all ranks. */
export interface DiLoCoOptions extends LocalSGDOptions {
  /** The optimizer of the outer steps: SGD on the mean difference of the parameters. */
  outer?: OuterOptimizerOptions;
  /**
   * Parts of the parameters that are exchanged in turn, each every `innerSteps` steps (Streaming DiLoCo). The most that a link
   * carries at once shrinks by this factor. Default: 1.
   */
  fragments?: number;
  /**
   * Steps that are computed while a fragment is exchanged. Less than `innerSteps`. Default: half of the steps between two
   * fragments if there are several, or 0: training waits for the exchange.
   */
  overlapSteps?: number;
  /**
   * Share of a rank's own parameters in those with which it continues, from 0 to 1; the rest are those of the outer step. With an
   * overlap, 0 would undo the steps that were computed meanwhile. Default: 0.5 with an overlap, else 0.
   */
  alpha?: number;
}

/** The options with their defaults. */
export interface LocalStepsSettings {
  innerSteps: number;
  warmupSteps: number;
  fragments: number;
  overlapSteps: number;
  alpha: number;
  lr: number;
  momentum: number;
  nesterov: boolean;
  transport: Transport;
  broadcastBuffers: boolean;
  faultTolerance: 'none' | 'shrink';
  minRanks: number;
}

const optionNames: OptionNames<DiLoCoOptions> = {
  processGroup: true,
  broadcastBuffers: true,
  faultTolerance: true,
  minRanks: true,
  onMembershipChange: true,
  innerSteps: true,
  warmupSteps: true,
  transport: true,
  islands: true,
  outer: true,
  fragments: true,
  overlapSteps: true,
  alpha: true,
};
const outerNames: OptionNames<OuterOptimizerOptions> = { lr: true, momentum: true, nesterov: true };

/** A hook for the exchange of one fragment; one with a state is created for each. */
const transports: Readonly<Record<Transport, () => CommHook>> = {
  float32: () => allReduce,
  bf16: () => bf16Compress,
  int8: () => int8Compress(),
  int4: () => int4Compress(),
};

export function hookOf(transport: Transport): CommHook {
  return transports[transport]();
}

/** @throws InvalidArgumentError for an unknown option, or a value out of range */
export function checkedLocalSteps(who: string, options: DiLoCoOptions): LocalStepsSettings {
  requireOptions(who, options, optionNames);
  requireOptions(`${who}: outer`, options.outer ?? {}, outerNames);
  const { innerSteps = 100, warmupSteps = 0, fragments = 1, transport = 'float32', outer = {} } = options;
  const { lr = 0.7, momentum = 0.9, nesterov = true } = outer;
  const { broadcastBuffers = true, faultTolerance = 'none', minRanks = 1, islands } = options;
  requireInteger(innerSteps, { who, what: 'innerSteps', min: 1 });
  requireInteger(warmupSteps, { who, what: 'warmupSteps', min: 0 });
  requireInteger(fragments, { who, what: 'fragments', min: 1, max: innerSteps });
  const overlapSteps = options.overlapSteps ?? (fragments > 1 ? Math.floor(innerSteps / fragments / 2) : 0);
  requireInteger(overlapSteps, { who, what: 'overlapSteps', min: 0, max: innerSteps - 1 });
  requireInteger(minRanks, { who, what: 'minRanks', min: 1 });
  const alpha = options.alpha ?? (overlapSteps > 0 ? 0.5 : 0);
  requireNumber(who, 'alpha', alpha, 0, 1);
  requireNumber(who, 'outer.lr', lr, 0, Infinity);
  requireNumber(who, 'outer.momentum', momentum, 0, Infinity);
  requireChoice(who, 'transport', transport, Object.keys(transports));
  requireChoice(who, 'faultTolerance', faultTolerance, ['none', 'shrink']);
  if (faultTolerance === 'shrink' && islands !== undefined) {
    throw new InvalidArgumentError(
      `${who}: faultTolerance: expected 'none' with islands, got 'shrink'. Leave one of the two out.`,
    );
  }
  return {
    ...{ innerSteps, warmupSteps, fragments, overlapSteps, alpha, lr, momentum, nesterov, transport },
    ...{ broadcastBuffers, faultTolerance, minRanks },
  };
}

function requireNumber(who: string, what: string, value: number, min: number, max: number): void {
  if (value >= min && value <= max && value < Infinity) return;
  const range = max === Infinity ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new InvalidArgumentError(`${who}: ${what}: expected a number ${range}, got ${String(value)}.`);
}
