import { emitModel } from './emit.ts';
import { fuseEpilogues, paysOff } from './fuse-epilogues.ts';
import { fuseElementwise } from './fuse-elementwise.ts';
import { fuseLayerNormalization } from './fuse-layer-normalization.ts';
import { fuseProducts } from './fuse-products.ts';
import { rematerializeParameterMaps } from './rematerialization.ts';
import { rewrite } from '../../compiler/rewrite.ts';
import { exactMaxPool } from './rewrites/exact-max-pool.ts';
import { batchInnermost } from './rewrites/batch-innermost/index.ts';
import { sumRowsOfBfloat16 } from './rewrites/sum-rows.ts';
import { fuseBatchNormalization } from './rewrites/fuse-batch-normalization.ts';
import { placeAttention } from '../../compiler/rewrites/attention-places.ts';
import { plainOperators } from '../../compiler/rewrites/plain-operators.ts';
import { isNode, type Value } from '../../graph/node.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { usesOwnOperators } from '../../ops/own/enabled.ts';
import { inFloat32, sizeOf } from '../../value-type.ts';
import type { Executor, ProgramDefinition } from '../executor.ts';
import type { OnnxModel } from './onnx-model.ts';

/** The operators and layouts of a forward pass that are fast on CPUs. */
export const prepareForward: Executor['prepareForward'] = (outputs, purpose) => {
  if (purpose === 'evaluation') return placeAttention(outputs);
  const innermost = rewrite(outputs, batchInnermost);
  return usesOwnOperators()
    ? placeAttention(fuseBatchNormalization(innermost))
    : rewrite(innermost, [plainOperators]);
};

/** Translates a graph into ONNX. The model has no reference to the graph. */
export function onnxModelOf({
  name,
  details,
  purpose,
  leaves,
  outputs,
  parts,
  update,
}: ProgramDefinition): OnnxModel {
  const values = purpose === 'training' ? rematerializeParameterMaps(outputs) : outputs;
  const isLong = isLongAndSmall(values.length > 0 || !update ? values : update.outputs);
  const rewritten = (all: readonly Value[]) => {
    const exact = rewrite(all, [exactMaxPool]);
    if (!usesOwnOperators()) return exact;
    const withProducts = rewrite(fuseProducts(exact), [sumRowsOfBfloat16]);
    const hasProducts = topologicalOrder(withProducts).some((node) => isNode(node, 'MatrixProduct'));
    if (isLong || (purpose === 'evaluation' && !hasProducts)) return withProducts;
    return fuseEpilogues(fuseElementwise(fuseLayerNormalization(withProducts)), paysOff);
  };
  return {
    name,
    details,
    model: emitModel(leaves, rewritten(values), {
      keepsActivations: purpose === 'training' && !isLong,
      parts,
      ...(update && { update: { ...update, outputs: rewritten(update.outputs) } }),
    }),
    inputs: [...leaves, ...(update?.leaves ?? [])].map(({ value }) => inFloat32(value)),
    outputs: [...outputs, ...(update?.outputs ?? [])].map(inFloat32),
    isLong,
  };
}

/** True if compilation dominates because there are many operators, and their activations need little memory. */
function isLongAndSmall(outputs: readonly Value[]): boolean {
  const order = topologicalOrder(outputs);
  if (order.length < longGraphNodes) return false;
  const elements = order.flatMap((node) => node.outputs).reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  return elements * Float32Array.BYTES_PER_ELEMENT < smallActivationsBytes;
}

/** A training step of ResNet-18 has about 1,200 nodes. */
const longGraphNodes = 2500;

/** Sum over all arrays that a graph computes. */
const smallActivationsBytes = 2 ** 29;
