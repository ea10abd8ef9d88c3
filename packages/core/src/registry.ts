import type { DistributedDataParallelClass } from './distributed-data-parallel.ts';
import { RingrunError } from './errors.ts';
import type { CollectiveTimeoutError } from './errors.ts';
import type { ActivityObserver, Lane } from './lane.ts';
import type { ProcessGroup } from './process-group.ts';
import type { Stateful } from './stateful.ts';

/** State of an optimizer that `distribute` has changed, shared by all copies of `@ringrun/tfjs`. */
export interface TfjsDistribution {
  /** Names of the variables on which no rank's loss depended in the last step. */
  readonly unused: readonly string[];
}

/**
 * State that the packages of ringrun share at run time. One per process (per thread, with worker threads): copies of a
 * package, and its ES module and CommonJS forms, find the same object.
 */
export interface Registry {
  /** Version of this interface. Raised when a slot is removed or changes its meaning, not when one is added. */
  readonly layout: number;
  /** URL of the copy of this module that created the registry, for error messages. */
  readonly createdBy: string;
  /**
   * The group of all ranks; undefined before `initProcessGroup` has resolved and after `destroyProcessGroup` was
   * called, which set it. Default of every `processGroup` option in `@ringrun/nn` and `@ringrun/tfjs`.
   */
  defaultGroup: ProcessGroup | undefined;
  /**
   * ringrun's DistributedDataParallel, for libraries that import only types of ringrun. Set when ringrun is loaded: by
   * the first copy, whose groups `defaultGroup` holds.
   */
  distributedDataParallel: DistributedDataParallelClass | undefined;
  /** True once `warnOfUnaveragedGradient` has printed its warning. */
  unaveragedGradientWasReported: boolean;
  /**
   * The state that `distribute` of `@ringrun/tfjs` keeps for each optimizer, so that every copy of the package finds
   * it.
   */
  readonly tfjsDistributions: WeakMap<object, TfjsDistribution>;
  /**
   * Random generators by library name. A library adds its generator when it is loaded, so that programs need not
   * register it. Checkpoints contain their states, per rank.
   */
  readonly randomStates: Map<string, Stateful>;
  /**
   * Milliseconds per lane since the process started. `recordActivity` adds to them; ringrun's training report reads
   * them. Always measured: two clock readings and an addition per activity.
   */
  readonly activityTotals: Record<Lane, number>;
  /** Receives each activity from `recordActivity`. Set by ringrun's `profile` while it records. */
  activityObserver: ActivityObserver | undefined;
  /**
   * Collects the stacks of the ranks of the job after a timeout, and returns the report. Blocks for 4.5 s at most. Set in
   * workers of the launcher, and by `initProcessGroup` in other processes, where it only explains what is unavailable.
   */
  reportTimeout: ((error: CollectiveTimeoutError) => string | undefined) | undefined;
  /** True once `installErrorRecord` has added its listener, which writes one record per process. */
  errorRecordIsInstalled: boolean;
  /** True from the call of `initProcessGroup` until `destroyProcessGroup` has resolved: other ranks need this process. */
  isRank: boolean;
  /** The error of the last group that failed or could not be formed; undefined after the next group was formed. */
  groupFailure: unknown;
}

const layout = 1;
const key = Symbol.for('ringrun.registry');

/** @throws RingrunError `ERR_INCOMPATIBLE_VERSIONS` when this module is loaded together with one of another layout. */
export const registry: Registry = joinRegistry(globalThis, import.meta.url);

/** @param url of this copy of the module */
export function joinRegistry(global: object, url: string): Registry {
  const slots = global as Record<symbol, Registry | undefined>;
  const found = slots[key];
  if (found !== undefined && found.layout !== layout) throw incompatible(found, url);
  // An older copy has created it without the slots that were added since.
  return (slots[key] = Object.assign(found ?? {}, { ...emptyRegistry(url), ...found }));
}

function emptyRegistry(url: string): Registry {
  return {
    layout,
    createdBy: url,
    defaultGroup: undefined,
    distributedDataParallel: undefined,
    unaveragedGradientWasReported: false,
    tfjsDistributions: new WeakMap(),
    randomStates: new Map(),
    activityTotals: { step: 0, input: 0, compute: 0, waiting: 0, communication: 0, function: 0 },
    activityObserver: undefined,
    reportTimeout: undefined,
    errorRecordIsInstalled: false,
    isRank: false,
    groupFailure: undefined,
  };
}

function incompatible(found: Registry, url: string): RingrunError {
  return new RingrunError(
    'ERR_INCOMPATIBLE_VERSIONS',
    `Loading @ringrun/core failed: expected registry layout ${layout} (${url}), got ${found.layout} (${found.createdBy}). ` +
      'Install the same version of ringrun, @ringrun/nn and @ringrun/tfjs; `npm ls @ringrun/core` lists the copies.',
  );
}
