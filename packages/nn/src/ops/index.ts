import type { Node } from '../graph/node.ts';
import type { OpName } from '../graph/operators.ts';
import { cumulative } from './cumulative.ts';
import { customGradients } from './custom-gradient.ts';
import { dependencies } from './dependency.ts';
import { batchNormalization } from './batch-normalization.ts';
import { collectives } from './collective.ts';
import { convolution } from './convolution.ts';
import { batchNormalizeSumsOperators } from './batch-normalize-sums.ts';
import { convWeightGradients } from './convolution-weight-gradient.ts';
import { division } from './division.ts';
import type { OperatorDefinition, OperatorFamily } from './definition.ts';
import { elementwisePrograms } from './elementwise-program.ts';
import { elementwise } from './elementwise.ts';
import { outerAxes } from './swap-outer-axes.ts';
import { functions } from './functions.ts';
import { indexing } from './indexing.ts';
import { linearAlgebra } from './linear-algebra.ts';
import { normalization } from './normalization.ts';
import { ordering } from './ordering.ts';
import { rowSums } from './own/add-rows.ts';
import { sparseGradients } from './own/sparse-rows.ts';
import { rowUpdates } from './own/update-rows.ts';
import { sumsOfRows } from './own/sum-rows.ts';
import { attentions } from './own/attention.ts';
import { batchNormalizeActivations } from './own/batch-normalize-activate.ts';
import { indexChecks } from './own/check-indices.ts';
import { probabilityChecks } from './own/check-probabilities.ts';
import { normClipping } from './own/clip-norm.ts';
import { sequenceLosses } from './own/ctc-loss.ts';
import { dropouts } from './own/dropout.ts';
import { embeddingBags } from './own/embedding-bag.ts';
import { gelus } from './own/gelu.ts';
import { layerNormalization } from './own/layer-normalize.ts';
import { matrixProducts } from './own/matrix-product.ts';
import { maxPoolActivations } from './own/max-pool-activate.ts';
import { maxPoolGradients } from './own/max-pool-gradient.ts';
import { recurrences } from './own/recurrence.ts';
import { safeSoftmaxes } from './own/safe-softmax.ts';
import { softmaxCrossEntropies } from './own/softmax-cross-entropy.ts';
import { directConvolutions } from './own/direct-convolve.ts';
import { toomCookConvolutions } from './own/toom-cook-convolve.ts';
import { toomCookConvolutions2d } from './own/toom-cook-convolve-2d.ts';
import { pooling } from './pooling.ts';
import { reductions } from './reduction.ts';
import { shaping } from './shape.ts';
import { softmaxes } from './softmax.ts';
import { sources } from './source.ts';
import { tableRows } from './table-rows.ts';
import { trigonometry } from './trigonometry.ts';
import { slopes } from './with-slope.ts';

/** The ONNX form and the gradient of every operator. An operator without an entry is a type error. */
export const operators: OperatorFamily<OpName> = {
  ...sources,
  ...dependencies,
  ...customGradients,
  ...slopes,
  ...elementwise,
  ...elementwisePrograms,
  ...functions,
  ...trigonometry,
  ...division,
  ...shaping,
  ...outerAxes,
  ...reductions,
  ...cumulative,
  ...ordering,
  ...normalization,
  ...batchNormalization,
  ...linearAlgebra,
  ...convolution,
  ...convWeightGradients,
  ...batchNormalizeSumsOperators,
  ...pooling,
  ...indexing,
  ...tableRows,
  ...softmaxes,
  ...rowSums,
  ...sparseGradients,
  ...rowUpdates,
  ...sumsOfRows,
  ...indexChecks,
  ...probabilityChecks,
  ...normClipping,
  ...directConvolutions,
  ...toomCookConvolutions,
  ...toomCookConvolutions2d,
  ...maxPoolGradients,
  ...maxPoolActivations,
  ...sequenceLosses,
  ...dropouts,
  ...attentions,
  ...safeSoftmaxes,
  ...softmaxCrossEntropies,
  ...gelus,
  ...layerNormalization,
  ...matrixProducts,
  ...batchNormalizeActivations,
  ...recurrences,
  ...embeddingBags,
  ...collectives,
};

export function definitionOf(node: Node): OperatorDefinition<OpName> {
  return operators[node.op];
}
