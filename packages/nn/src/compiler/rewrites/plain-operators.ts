import { createNode, type Node, type Value } from '../../graph/node.ts';
import { cast, widened } from '../../ops/elementwise.ts';
import { definitionOf } from '../../ops/index.ts';
import { inFloat32 } from '../../value-type.ts';

/** Replaces the addon's operators by equivalent graphs of ONNX operators, which compute in float32. */
export function plainOperators(node: Node): readonly Value[] | undefined {
  const definition = definitionOf(node);
  if (definition.plain === undefined) return undefined;
  const isNarrow = [...node.inputs, ...node.outputs].some(({ dtype }) => dtype === 'bfloat16');
  if (!isNarrow) return definition.plain(node);
  const types = node.outputs.map(inFloat32);
  const results = definition.plain(createNode(node.op, node.inputs.map(widened), node.attributes, types));
  return results.map((result, index) => cast(result, node.outputs[index].dtype));
}
