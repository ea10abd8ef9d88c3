import { invalidateRecordedCalls } from '@ringrun/core';
import type { DistributedParameter, ForwardModule, GradientSink, ProcessGroup } from '@ringrun/core';
import { DistributedDataParallel } from '../ddp/distributed-data-parallel.ts';
import type { FaultTolerance } from '../ddp/fault-tolerance.ts';

/** The ranks whose gradients are averaged, and how. */
export interface GradientAveragesSetting {
  /** Of all ranks, which average during the warm-up. Undefined without a warm-up. */
  all: ProcessGroup | undefined;
  /** The ranks that average after the warm-up. Undefined if each rank trains for itself then. */
  island: ProcessGroup | undefined;
  broadcastBuffers: boolean;
  /** Repeats averages of the warm-up. */
  faultTolerance: FaultTolerance | undefined;
}

/** Averages of gradients in every step: over all ranks during the warm-up, and inside an island afterwards. */
export class GradientAverages<M extends ForwardModule> {
  readonly #warmup: Phase<M>;
  readonly #local: Phase<M>;
  #current: Phase<M>;

  /** A collective. Begins with the warm-up. */
  constructor(module: M, { all, island, broadcastBuffers, faultTolerance }: GradientAveragesSetting) {
    const phaseOf = (group: ProcessGroup | undefined, recovery?: FaultTolerance) => {
      if (group === undefined) return new Phase(module, undefined);
      const options = {
        processGroup: group,
        broadcastBuffers,
        faultTolerance: recovery ? 'shrink' : 'none',
      } as const;
      return new Phase(module, new DistributedDataParallel(module, options, recovery));
    };
    this.#local = phaseOf(island);
    this.#warmup = all ? phaseOf(all, faultTolerance) : this.#local;
    this.#current = this.#warmup;
  }

  /** The wrapper that averages now. Undefined if each rank trains for itself. */
  get wrapper(): DistributedDataParallel<M> | undefined {
    return this.#current.wrapper;
  }

  /** Called between two steps. */
  set isWarmup(isWarmup: boolean) {
    const phase = isWarmup ? this.#warmup : this.#local;
    if (phase === this.#current) return;
    this.#current = phase;
    phase.begin();
  }
}

/** Steps with the same wrapper, if any. */
class Phase<M extends ForwardModule> {
  readonly wrapper: DistributedDataParallel<M> | undefined;
  /** Those of the wrapper. */
  readonly #sinks: readonly (readonly [DistributedParameter, GradientSink | undefined])[];

  /** @param wrapper the last one that was made of the module */
  constructor(module: M, wrapper: DistributedDataParallel<M> | undefined) {
    this.wrapper = wrapper;
    this.#sinks = Array.from(module.namedParameters(), ([, parameter]) => [
      parameter,
      parameter.gradientSink,
    ]);
  }

  begin(): void {
    for (const [parameter, sink] of this.#sinks) parameter.gradientSink = sink;
    invalidateRecordedCalls();
  }
}
