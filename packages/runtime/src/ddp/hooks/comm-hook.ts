import { ReduceOp } from '@ringrun/core';
import type { CommHook, GradientBucket, ProcessGroup, TypedArray } from '@ringrun/core';

/**
 * A hook as a generator, from which both forms are created. It yields the result of `average`: a promise, or undefined
 * in the synchronous form.
 */
export type HookSteps = (
  bucket: GradientBucket,
  group: ProcessGroup,
  average: (data: TypedArray) => Promise<void> | undefined,
) => Iterable<Promise<unknown> | undefined>;

export function inBothForms(steps: HookSteps): CommHook {
  const later: CommHook = async (bucket, group) => {
    const average = (data: TypedArray) => group.allReduce(data, { op: ReduceOp.AVG });
    for (const step of steps(bucket, group, average)) await step;
  };
  const sync: CommHook['sync'] = (bucket, group) => {
    const run = steps(bucket, group, (data) => {
      group.allReduceSync(data, { op: ReduceOp.AVG });
      return undefined;
    })[Symbol.iterator]();
    while (!run.next().done);
  };
  return Object.assign(later, { sync });
}

/** Averages gradients with one all-reduce per bucket, as without a hook (torch: allreduce_hook). */
export const allReduce: CommHook = inBothForms(({ data }, _, average) => [average(data)]);
