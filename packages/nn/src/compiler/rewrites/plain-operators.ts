import type { Node, Value } from '../../graph/node.ts';
import { definitionOf } from '../../ops/index.ts';

/** Replaces the addon's operators by equivalent graphs of ONNX operators. */
export function plainOperators(node: Node): readonly Value[] | undefined {
  return definitionOf(node).plain?.(node);
}
