import type { Node, Value } from '../graph/node.ts';

/** The nodes of a graph that read its values. */
export class Readers {
  readonly #readers = new Map<Value, Node[]>();
  readonly #places: ReadonlyMap<Node, number>;
  readonly #outputs: ReadonlySet<Value>;

  /** @param order all nodes that the outputs depend on, in topological order */
  constructor(order: readonly Node[], outputs: readonly Value[]) {
    this.#places = new Map(order.map((node, place) => [node, place]));
    this.#outputs = new Set(outputs);
    for (const node of order) {
      for (const input of new Set(node.inputs)) {
        const known = this.#readers.get(input);
        if (known) known.push(node);
        else this.#readers.set(input, [node]);
      }
    }
  }

  of(value: Value): readonly Node[] {
    return this.#readers.get(value) ?? [];
  }

  /** The only reader; undefined if there are others, or if the value is an output. */
  only(value: Value): Node | undefined {
    const readers = this.of(value);
    return readers.length === 1 && !this.#outputs.has(value) ? readers[0] : undefined;
  }

  isOutput(value: Value): boolean {
    return this.#outputs.has(value);
  }

  isBefore(one: Node, other: Node): boolean {
    return this.#places.get(one)! < this.#places.get(other)!;
  }

  /** True if a value is computed before a node in this order, so that it does not depend on the node. */
  isKnownBefore({ node: producer }: Value, node: Node): boolean {
    return producer.inputs.length === 0 || this.isBefore(producer, node);
  }
}
