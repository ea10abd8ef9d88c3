import type { OpName } from '../../../graph/operators.ts';
import type { Kernel, LoweringFamily } from '../lowering.ts';
import { dropoutKernels, dropouts } from './dropout.ts';
import { layerNormalization, layerNormalizeKernels } from './layer-normalize.ts';
import { pooling, poolingKernels } from './pooling.ts';
import { softmaxCrossEntropies, softmaxCrossEntropyKernels } from './softmax-cross-entropy.ts';
import { softmaxes, softmaxKernels } from './softmax.ts';
import { normalization, statisticsKernels } from './statistics.ts';

/**
 * The kernels of the operators. A program with an operator that has no entry runs on the CPU: `executor.ts` says which one.
 */
export const kernels: Partial<LoweringFamily<OpName>> = {
  ...softmaxes,
  ...softmaxCrossEntropies,
  ...pooling,
  ...dropouts,
  ...layerNormalization,
  ...normalization,
};

/** All hand-written kernels, to compile them for every architecture. */
export const allKernels: readonly Kernel[] = [
  ...softmaxKernels,
  ...softmaxCrossEntropyKernels,
  ...poolingKernels,
  ...dropoutKernels,
  ...layerNormalizeKernels,
  ...statisticsKernels,
];
