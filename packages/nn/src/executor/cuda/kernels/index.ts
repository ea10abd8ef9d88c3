import { isNode, type Node } from '../../../graph/node.ts';
import type { OpName } from '../../../graph/operators.ts';
import { placesOf } from '../../../ops/own/attention.ts';
import type { Kernel, LoweringFamily } from '../lowering.ts';
import { attentionLimit } from './attention-choice.ts';
import { attentionKernels, attentions } from './attention.ts';
import { batchSumKernels, batchSums } from './batch-sums.ts';
import { channelStatisticsKernels } from './channel-statistics.ts';
import { checkKernels, checks } from './checks.ts';
import { collectiveKernels, collectives } from './collectives.ts';
import { classLosses, classLossKernels } from './class-loss.ts';
import { ctcLossKernels, sequenceLosses } from './ctc-loss.ts';
import { dropoutKernels, dropouts } from './dropout.ts';
import { embeddingBagKernels, embeddingBags } from './embedding-bag.ts';
import { indexing, indexingKernels } from './indexing.ts';
import { keepRefusalsKernels } from './keep-refusals.ts';
import { layerNormalization, layerNormalizeKernels } from './layer-normalize.ts';
import { normKernels, norms } from './norms.ts';
import { ordering, orderingKernels } from './ordering.ts';
import { pooling, poolingKernels } from './pooling.ts';
import { recurrenceKernels, recurrences } from './recurrence.ts';
import { softmaxCrossEntropies, softmaxCrossEntropyKernels } from './softmax-cross-entropy.ts';
import { softmaxes, softmaxKernels } from './softmax.ts';
import { normalization, statisticsKernels } from './statistics.ts';
import { tableRowKernels, tableRows } from './table-rows.ts';

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
  ...batchSums,
  ...tableRows,
  ...indexing,
  ...checks,
  ...attentions,
  ...norms,
  ...ordering,
  ...classLosses,
  ...embeddingBags,
  ...recurrences,
  ...sequenceLosses,
  ...collectives,
};

/** Why there is no kernel for a node although there is one for its operator, as the end of a sentence. */
export function limitOf(node: Node): string | undefined {
  if (isNode(node, 'Attention')) return attentionLimit(placesOf(node));
  return isNode(node, 'AttentionGradient') ? attentionLimit(node.attributes.places) : undefined;
}

/** All hand-written kernels, to compile them for every architecture. */
export const allKernels: readonly Kernel[] = [
  ...collectiveKernels,
  ...softmaxKernels,
  ...softmaxCrossEntropyKernels,
  ...poolingKernels,
  ...dropoutKernels,
  ...layerNormalizeKernels,
  ...statisticsKernels,
  ...channelStatisticsKernels,
  ...batchSumKernels,
  ...tableRowKernels,
  ...indexingKernels,
  ...checkKernels,
  ...keepRefusalsKernels,
  ...attentionKernels,
  ...normKernels,
  ...orderingKernels,
  ...classLossKernels,
  ...embeddingBagKernels,
  ...recurrenceKernels,
  ...ctcLossKernels,
];
