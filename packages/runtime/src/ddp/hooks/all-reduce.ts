import { inBothForms, type CommHook } from './comm-hook.ts';

/** The average, as without a hook (torch: allreduce_hook). */
export const allReduce: CommHook = inBothForms(({ data }, _, average) => [average(data)]);
