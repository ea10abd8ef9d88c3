import type { Node, Value } from './node.ts';

/**
 * Numbers the values of a graph from 0 on, so that what is known of them is in typed arrays: maps of nodes cost more than the work on a
 * graph that runs once. It is right until the next one or the next structure of the same nodes, whose positions it sets.
 */
export class ValueNumbers {
  /** The values of the graph. */
  readonly size: number;
  readonly #order: readonly Node[];
  /** For each node, the number of its first output. */
  readonly #first: Int32Array;

  /** @param order all nodes of the graph */
  constructor(order: readonly Node[]) {
    this.#order = order;
    this.#first = new Int32Array(order.length);
    let size = 0;
    for (let position = 0; position < order.length; position += 1) {
      const node = order[position];
      node.position = position;
      this.#first[position] = size;
      size += node.outputs.length;
    }
    this.size = size;
  }

  /** The number of a value of the graph. */
  of({ node, index }: Value): number {
    return this.#first[node.position] + index;
  }

  /** True for a node of the graph. */
  has(node: Node): boolean {
    return this.#order[node.position] === node;
  }
}
