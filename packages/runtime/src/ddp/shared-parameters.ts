import { prepareBarrier, shareMemorySync, whenDestroyed } from '@ringrun/collectives';
import type { LeavesGroup } from '@ringrun/collectives';
import { InvalidArgumentError, partElements, registry } from '@ringrun/core';
import type {
  DistributedModule,
  DistributedParameter,
  ElementRange,
  ParameterSharing,
  ProcessGroup,
  StartableOperation,
} from '@ringrun/core';
import type { Bucket } from './bucket.ts';
import { GradientsOfRanks } from './gradients-of-ranks.ts';

/** Elements of a cache line: no two ranks write to one line. */
const lineElements = 16;

/**
 * The parameters of a model in memory that the ranks of a host share (option `shareParameters`). They are consecutive,
 * and each rank updates an about equal range of the whole, so most parameters have one owner.
 */
export class SharedParameters implements ParameterSharing, LeavesGroup {
  readonly group: ProcessGroup;
  /** Undefined unless all ranks share memory. */
  readonly gradients: GradientsOfRanks | undefined;
  readonly #own: ElementRange;
  readonly #leave: () => void;
  /** The range of a parameter within the whole. */
  readonly #places: ReadonlyMap<DistributedParameter, ElementRange>;

  /**
   * Moves the parameters, which are equal on all ranks, into shared memory. When the group is destroyed, they leave
   * shared memory: each is copied at its first use, because a program that ends needs no copies. A collective.
   *
   * @param buckets the gradients
   * @param whenLeft called when the parameters have left shared memory
   */
  constructor(
    group: ProcessGroup,
    parameters: readonly DistributedParameter[],
    buckets: readonly Bucket[],
    whenLeft: () => void,
  ) {
    this.group = group;
    this.gradients = GradientsOfRanks.of(group, buckets);
    const lengths = parameters.map(({ data }) => data.length);
    const { offsets, length } = layoutOf(lengths);
    this.#places = new Map(
      parameters.map((parameter, position) => {
        const begin = offsets[position];
        return [parameter, { begin, end: begin + lengths[position] }];
      }),
    );
    const { data, place, ranks } = shareMemorySync(group, length);
    const boundary = boundariesIn([...this.#places.values()], length, ranks);
    this.#own = { begin: boundary(place), end: boundary(place + 1) };
    const views = Array.from(this.#places.values(), ({ begin, end }) => data.subarray(begin, end));
    if (place === 0) for (const [position, view] of views.entries()) view.set(parameters[position].data);
    group.barrierSync();
    for (const [position, view] of views.entries()) parameters[position].replaceData!(view);
    this.#leave = () => {
      for (const [position, view] of views.entries()) {
        if (parameters[position].data === view) parameters[position].replaceData!(() => view.slice());
      }
      whenLeft();
    };
    whenDestroyed(group, this);
  }

  leaveGroup(): void {
    this.#leave();
  }

  ownPartOf(parameter: DistributedParameter): ElementRange {
    const { begin, end } = this.#places.get(parameter)!;
    const within = (index: number) => Math.min(Math.max(index, begin), end) - begin;
    return { begin: within(this.#own.begin), end: within(this.#own.end) };
  }

  gradientsOf(parameter: DistributedParameter): readonly Float32Array[] {
    return this.gradients!.of(parameter);
  }

  allocateSync(lengths: readonly number[]): Float32Array[] {
    const { offsets, length } = layoutOf(lengths);
    const { data } = shareMemorySync(this.group, length);
    return lengths.map((one, position) => data.subarray(offsets[position], offsets[position] + one));
  }

  synchronize(): Promise<void> {
    return this.group.barrier();
  }

  prepareSynchronize(): StartableOperation | undefined {
    // An observer replaces the methods of the group, to record their calls.
    return registry.activityObserver === undefined ? prepareBarrier(this.group) : undefined;
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

/**
 * Returns the function from a rank to the first element of its range: the beginning of a part of an array that is nearest to
 * an equal division.
 */
function boundariesIn(
  places: readonly ElementRange[],
  length: number,
  ranks: number,
): (rank: number) => number {
  const cuts = places.flatMap(({ begin, end }) =>
    Array.from({ length: Math.ceil((end - begin) / partElements) }, (_, part) => begin + part * partElements),
  );
  return (rank) => {
    if (rank === 0) return 0;
    if (rank === ranks) return length;
    const equal = (length * rank) / ranks;
    return cuts.reduce((best, cut) => (Math.abs(cut - equal) < Math.abs(best - equal) ? cut : best));
  };
}

/** @throws InvalidArgumentError if the library of the model cannot move its parameters, or they are on a GPU */
export function requireMovable(module: DistributedModule): void {
  const { computesOn = 'cpu' } = module;
  if (computesOn !== 'cpu') {
    throw new InvalidArgumentError(
      `DistributedDataParallel: shareParameters: expected a model that computes on the CPU, got one on ${computesOn}: ranks share memory of the host only. Leave shareParameters out, or move the model with model.to('cpu').`,
    );
  }
  for (const [name, parameter] of module.namedParameters()) {
    if (parameter.replaceData !== undefined && module.synchronous !== true) continue;
    throw new InvalidArgumentError(
      `DistributedDataParallel: shareParameters: expected a model of @ringrun/nn, got ${name} of a library that keeps parameters in memory of its own. Leave shareParameters out.`,
    );
  }
}
