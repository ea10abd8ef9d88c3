import {
  InvalidArgumentError,
  prepareBarrier,
  shareMemorySync,
  whenDestroyed,
  type ProcessGroup,
} from '@ringrun/collectives';
import {
  registry,
  type DistributedModule,
  type DistributedParameter,
  type ElementRange,
  type ParameterSharing,
  type StartableOperation,
} from '@ringrun/core';

/** Elements of a cache line: no two ranks write to one line. */
const lineElements = 16;

/**
 * The parameters of a model in memory that the ranks of a host share (option `shareParameters`). They follow one another,
 * and each rank updates an equal range of the whole, so most parameters have one owner.
 */
export class SharedParameters implements ParameterSharing {
  readonly #group: ProcessGroup;
  readonly #own: ElementRange;
  /** Index of a parameter's first element. */
  readonly #offsets: ReadonlyMap<DistributedParameter, number>;

  /**
   * Moves the parameters, which are equal on all ranks, into shared memory. When the group is destroyed, they leave it:
   * each is copied at its first use, because a program that ends needs no copies. A collective.
   *
   * @param whenLeft called when they have left it
   */
  constructor(group: ProcessGroup, parameters: readonly DistributedParameter[], whenLeft: () => void) {
    this.#group = group;
    const { offsets, length } = layoutOf(parameters.map(({ data }) => data.length));
    this.#offsets = new Map(parameters.map((parameter, position) => [parameter, offsets[position]]));
    const { data, place, ranks } = shareMemorySync(group, length);
    const lines = length / lineElements;
    const boundary = (rank: number) => Math.floor((lines * rank) / ranks) * lineElements;
    this.#own = { begin: boundary(place), end: boundary(place + 1) };
    const views = parameters.map((parameter, position) =>
      data.subarray(offsets[position], offsets[position] + parameter.data.length),
    );
    if (place === 0) for (const [position, view] of views.entries()) view.set(parameters[position].data);
    group.barrierSync();
    for (const [position, view] of views.entries()) parameters[position].replaceData!(view);
    whenDestroyed(group, () => {
      for (const [position, view] of views.entries()) {
        if (parameters[position].data === view) parameters[position].replaceData!(() => view.slice());
      }
      whenLeft();
    });
  }

  ownPartOf(parameter: DistributedParameter): ElementRange {
    const offset = this.#offsets.get(parameter)!;
    const within = (index: number) => Math.min(Math.max(index - offset, 0), parameter.data.length);
    return { begin: within(this.#own.begin), end: within(this.#own.end) };
  }

  allocateSync(lengths: readonly number[]): Float32Array[] {
    const { offsets, length } = layoutOf(lengths);
    const { data } = shareMemorySync(this.#group, length);
    return lengths.map((one, position) => data.subarray(offsets[position], offsets[position] + one));
  }

  synchronize(): Promise<void> {
    return this.#group.barrier();
  }

  prepareSynchronize(): StartableOperation | undefined {
    // An observer replaces the methods of the group, to record their calls.
    return registry.activityObserver === undefined ? prepareBarrier(this.#group) : undefined;
  }
}

/** Consecutive arrays, each at the beginning of a cache line. */
function layoutOf(lengths: readonly number[]): { offsets: number[]; length: number } {
  const offsets: number[] = [];
  let length = 0;
  for (const one of lengths) {
    offsets.push(length);
    length += Math.ceil(one / lineElements) * lineElements;
  }
  return { offsets, length };
}

/** @throws InvalidArgumentError if the library of the model cannot move its parameters */
export function requireMovable(module: DistributedModule): void {
  for (const [name, parameter] of module.namedParameters()) {
    if (parameter.replaceData !== undefined && module.synchronous !== true) continue;
    throw new InvalidArgumentError(
      `DistributedDataParallel: shareParameters: expected a model of @ringrun/nn, got ${name} of a library that keeps parameters in memory of its own. Leave shareParameters out.`,
    );
  }
}
