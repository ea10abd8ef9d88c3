import { ReduceOp } from '@ringrun/collectives';
import type { CommHook } from './comm-hook.ts';

/** The average, as without a hook (torch: allreduce_hook). */
export const allReduce: CommHook = ({ data }, group) => group.allReduce(data, { op: ReduceOp.AVG });
