import type { Node, Value } from '../../graph/node.ts';
import { definitionOf } from '../../ops/index.ts';

/** Replaces the operators of the addon by the graphs of ONNX's operators that compute the same. */
export function plainOperators(node: Node): readonly Value[] | undefined {
  return definitionOf(node).plain?.(node);
}
