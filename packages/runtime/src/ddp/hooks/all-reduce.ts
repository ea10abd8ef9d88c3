import { inBothForms, type CommHook } from './comm-hook.ts';

/** Averages gradients with one all-reduce per bucket, as without a hook (torch: allreduce_hook). */
export const allReduce: CommHook = inBothForms(({ data }, _, average) => [average(data)]);
