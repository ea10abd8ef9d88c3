import type { Node, Value } from '../../graph/node.ts';

/** True if a node returns the elements of its first input in their order, so that it needs no command. */
export function isView(node: Pick<Node, 'op'>): boolean {
  return views.has(node.op);
}

const views = new Set<string>(['Reshape', 'Identity', 'Checkpoint', 'AddDependency']);

/** The value whose memory a value has. */
export function viewedValue(value: Value): Value {
  let source = value;
  while (isView(source.node)) [source] = source.node.inputs;
  return source;
}
