import { allGather, allReduce, defaultGroup, isInitialized, type ProcessGroup } from 'ringrun';

/** What a metric keeps between updates. */
export interface MetricState {
  /** Counts and sums, added over the ranks. float64 counts exactly up to 2^53. */
  readonly sums: Float64Array;
  /** Values of each sample, concatenated over the ranks in their order. */
  readonly lists: readonly Float64Array[];
}

/** The default group, or undefined in a process without one. */
export function currentGroup(): ProcessGroup | undefined {
  return isInitialized() ? defaultGroup() : undefined;
}

/**
 * The states of all ranks together, in new arrays. A collective of the group: one all-reduce for the sums of all states, and an
 * all-gather for each list.
 *
 * @param group undefined: this process alone
 */
export async function overRanks(
  states: readonly MetricState[],
  group: ProcessGroup | undefined,
): Promise<MetricState[]> {
  const sums = joined(states.map((state) => state.sums));
  const lists: Float64Array[][] = states.map((state) => [...state.lists]);
  if (group !== undefined && group.size > 1) {
    if (sums.length > 0) await allReduce(sums, { group });
    for (const own of lists)
      for (const [index, list] of own.entries()) own[index] = await concatenated(list, group);
  }
  let end = 0;
  return states.map((state, index) => {
    const start = end;
    end += state.sums.length;
    return { sums: sums.slice(start, end), lists: lists[index] };
  });
}

/** The arrays one after another. */
export function joined(arrays: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(arrays.reduce((length, array) => length + array.length, 0));
  let end = 0;
  for (const array of arrays) {
    all.set(array, end);
    end += array.length;
  }
  return all;
}

async function concatenated(own: Float64Array, group: ProcessGroup): Promise<Float64Array> {
  const lengths = new Float64Array(group.size);
  await allGather(lengths, Float64Array.of(own.length), { group });
  const parts = Array.from(lengths, (length) => new Float64Array(length));
  await allGather(parts, own, { group });
  return joined(parts);
}
