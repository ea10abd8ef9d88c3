import type { ActivityDetails } from '@ringrun/core';
import type { ProgramDefinition } from '../executor/executor.ts';
import type { Value } from '../graph/node.ts';
import { inFloat32, sizeOf, type ValueType } from '../value-type.ts';
import type { Leaf } from '../graph/structure.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { usesOwnOperators } from '../ops/own/enabled.ts';
import { emitModel, type ModelOptions } from './emit.ts';
import { fuseElementwise } from './fuse-elementwise.ts';
import { fuseLayerNormalization } from './fuse-layer-normalization.ts';
import { fuseProducts } from './fuse-products.ts';
import { rewrite } from './rewrite.ts';
import { exactMaxPool } from './rewrites/exact-max-pool.ts';
import { plainOperators } from './rewrites/plain-operators.ts';
import { removeSlopes } from './rewrites/remove-identity.ts';
import { withoutElements } from './rewrites/without-elements.ts';

/** How a program treats the memory of intermediate values, its operators, its parts and its update. */
export interface CompileOptions extends Pick<ModelOptions, 'parts' | 'update'> {
  /** If true, values of the first half are kept for the second, as in a training step (see `emitModel`). Default: false. */
  keepsActivations?: boolean;
  /** Figures that the profiler shows beside the name. Default: none. */
  details?: ActivityDetails;
  /** If true, elementwise operators are fused (see `fuseElementwise`). Default: false. */
  fuses?: boolean;
}

/** A program that takes the leaves' arrays in order and computes the outputs. `name` appears in the profiler. */
export function definitionOf(
  name: string,
  leaves: readonly Leaf[],
  outputs: readonly Value[],
  { keepsActivations = false, fuses = false, parts = [], update, details }: CompileOptions = {},
): ProgramDefinition {
  const isLong = isLongAndSmall(outputs.length > 0 || !update ? outputs : update.outputs);
  const withElements = (values: readonly Value[]) =>
    rewrite(withoutOwnOperators(values), [withoutElements(values), exactMaxPool, removeSlopes]);
  const fused = (values: readonly Value[]) => {
    if (!usesOwnOperators()) return values;
    const withProducts = fuseProducts(values);
    return fuses && !isLong ? fuseElementwise(fuseLayerNormalization(withProducts)) : withProducts;
  };
  return {
    name,
    details,
    model: emitModel(leaves, fused(withElements(outputs)), {
      keepsActivations: keepsActivations && !isLong,
      parts,
      ...(update && { update: { ...update, outputs: fused(withElements(update.outputs)) } }),
    }),
    inputs: [...leaves, ...(update?.leaves ?? [])].map(({ value }) => typeOf(value)),
    outputs: [...outputs, ...(update?.outputs ?? [])].map(typeOf),
    isLong,
  };
}

/** The type alone, so that a program does not keep a graph and its arrays. */
function typeOf(value: Value): ValueType {
  return inFloat32(value);
}

/** With RINGRUN_PLAIN_OPERATORS=1, a graph of ONNX's operators. */
export function withoutOwnOperators(outputs: readonly Value[]): readonly Value[] {
  return usesOwnOperators() ? outputs : rewrite(outputs, [plainOperators]);
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
