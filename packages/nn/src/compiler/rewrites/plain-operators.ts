import { createNode, type Node, type Value } from '../../graph/node.ts';
import { cast, widened } from '../../ops/elementwise.ts';
import { definitionOf } from '../../ops/index.ts';
import { plainFormOf } from '../differentiate.ts';
import { rewrite } from '../rewrite.ts';
import { inFloat32 } from '../../value-type.ts';

/** Replaces the addon's operators by equivalent graphs of ONNX operators, which compute in float32. */
export function plainOperators(node: Node): readonly Value[] | undefined {
  const definition = definitionOf(node);
  if (definition.plain === undefined && definition.adjoint === undefined) return undefined;
  const isNarrow = [...node.inputs, ...node.outputs].some(({ dtype }) => dtype === 'bfloat16');
  if (!isNarrow) return withoutOwn(plainFormOf(node)!, definition.adjoint !== undefined);
  const types = node.outputs.map(inFloat32);
  const results = plainFormOf(createNode(node.op, node.inputs.map(widened), node.attributes, types))!;
  return withoutOwn(results, definition.adjoint !== undefined).map((result, index) =>
    cast(result, node.outputs[index].dtype),
  );
}

/** The gradients of plain operators are those of others, among them such of the addon. */
function withoutOwn(values: readonly Value[], areGradients: boolean): readonly Value[] {
  return areGradients ? rewrite(values, [plainOperators]) : values;
}
