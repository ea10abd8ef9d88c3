import { createNode, type Node, type Value } from '../../graph/node.ts';
import type { GraphBuilder } from '../../onnx-format/graph-builder.ts';
import { noGradient, type OperatorFamily } from '../definition.ts';
import type { SparseValue } from './sparse-rows.ts';

type UpdateOfRows = 'SgdOfRows' | 'AdagradOfRows' | 'AdamOfRows';

/**
 * Updates the rows of a table and of its states that have a gradient, in place.
 *
 * @param op the rule: native/src/onnxruntime/operators/update_rows.h
 * @param tables the table, then the states, [V, D] each
 * @param numbers of the rule, [] each
 * @returns the new values of the tables
 */
export function updateRows(
  op: UpdateOfRows,
  [table, ...states]: readonly Value[],
  { packed, values }: SparseValue,
  numbers: readonly Value[],
): readonly Value[] {
  const inputs = [table, packed, ...states, ...numbers, ...(values ? [values] : [])];
  return createNode(op, inputs, { hasValues: values !== undefined }, [table, ...states]).outputs;
}

function emit(
  graph: GraphBuilder,
  { op }: Node<UpdateOfRows>,
  inputs: readonly string[],
  outputs: readonly string[],
): void {
  graph.ownNode(op, inputs, outputs, {});
}

export const rowUpdates: OperatorFamily<UpdateOfRows> = {
  SgdOfRows: { emit, gradient: noGradient },
  AdagradOfRows: { emit, gradient: noGradient },
  AdamOfRows: { emit, gradient: noGradient },
};
