import { isNode, type Node, type Value } from '../../graph/node.ts';

/** True if a node returns the elements of its first input in their order, so that it needs no command. */
export function isView(node: Pick<Node, 'op'>): boolean {
  return views.has(node.op);
}

const views = new Set<string>(['Reshape', 'Identity', 'Checkpoint', 'AddDependency']);

/**
 * The value of bfloat16 that a value is in float32, for kernels that widen what they load, so that memory needs no copy in
 * float32; any other value as it is.
 */
export function unwidened(value: Value): Value {
  const { node, dtype } = viewedValue(value);
  const isWidening = isNode(node, 'Cast') && dtype === 'float32' && node.inputs[0].dtype === 'bfloat16';
  return isWidening ? node.inputs[0] : value;
}

/** The value whose memory a value has. */
export function viewedValue(value: Value): Value {
  let source = value;
  while (isView(source.node)) [source] = source.node.inputs;
  return source;
}
