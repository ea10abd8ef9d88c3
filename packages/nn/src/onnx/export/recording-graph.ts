import type { DType, Scalar } from '../../dtype.ts';
import type { Node } from '../../graph/node.ts';
import { GraphBuilder, type Attributes } from '../../onnx-format/graph-builder.ts';

/** A constant or node of a graph, in the order in which it was added. */
export type Entry = ConstantEntry | NodeEntry;

interface Added {
  /** The operation that added it. */
  readonly of: Node;
  /** The operation of forward that it belongs to, for messages. */
  readonly origin: Node;
  /** The names of the operation's inputs and outputs. */
  readonly operands: readonly string[];
  readonly results: readonly string[];
}

export interface ConstantEntry extends Added {
  readonly kind: 'constant';
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly values: readonly Scalar[];
}

export interface NodeEntry extends Added {
  readonly kind: 'node';
  readonly opType: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Attributes;
}

/** Records the constants and nodes that operators add. Graphs of one structure get equal names even if constants differ. */
export class RecordingGraph extends GraphBuilder {
  readonly entries: Entry[] = [];
  readonly #origins: ReadonlyMap<Node, Node>;
  #added: Added | undefined;

  /** @param origins the original operations of forward, keyed by their replacements */
  constructor(origins: ReadonlyMap<Node, Node>) {
    super();
    this.#origins = origins;
  }

  /** Attributes subsequent entries to this operation. */
  readonly begin = (of: Node, operands: readonly string[] = [], results: readonly string[] = []): void => {
    this.#added = { of, origin: this.#origins.get(of) ?? of, operands, results };
  };

  override constant(dtype: DType, shape: readonly number[], values: readonly Scalar[]): string {
    const name = this.freshName('constant');
    this.entries.push({ kind: 'constant', name, dtype, shape, values, ...this.#added! });
    return name;
  }

  override node(
    opType: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes = {},
  ): void {
    this.entries.push({ kind: 'node', opType, inputs, outputs, attributes, ...this.#added! });
  }

  /** An exported model contains standard operators only. */
  override ownNode(opType: string): never {
    throw new Error(`${opType} is an operator of the addon, which only compiled programs may have`);
  }
}
