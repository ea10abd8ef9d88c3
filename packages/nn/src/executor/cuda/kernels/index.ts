import type { OpName } from '../../../graph/operators.ts';
import type { LoweringFamily } from '../lowering.ts';

/**
 * The kernels of the operators. A program with an operator that has no entry runs on the CPU: `executor.ts` says which one.
 */
export const kernels: Partial<LoweringFamily<OpName>> = {};
