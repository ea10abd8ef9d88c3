import type { Node, Value } from '../graph/node.ts';

/** The readers of values that are read once and are not outputs. */
export function onlyReadersOf(
  order: readonly Node[],
  outputs: readonly Value[],
): Map<Value, Node | undefined> {
  const readers = new Map<Value, Node | undefined>(outputs.map((output) => [output, undefined]));
  for (const node of order) {
    for (const input of node.inputs) readers.set(input, readers.has(input) ? undefined : node);
  }
  return readers;
}
