import type { DType, Scalar } from '../dtype.ts';
import type { Node } from '../graph/node.ts';
import { GraphBuilder, type Attributes } from './graph-builder.ts';

/** A constant or node of a graph, in the order in which it was added. */
export type Entry = ConstantEntry | NodeEntry;

export interface ConstantEntry {
  readonly kind: 'constant';
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly values: readonly Scalar[];
  /** The operation that added it. */
  readonly of: Node;
}

export interface NodeEntry {
  readonly kind: 'node';
  readonly opType: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Attributes;
  readonly of: Node;
}

/** Records the constants and nodes that operators add. Graphs of one structure get equal names even if constants differ. */
export class RecordingGraph extends GraphBuilder {
  readonly entries: Entry[] = [];
  #of: Node | undefined;

  /** Attributes the following entries to this operation. */
  readonly begin = (node: Node): void => {
    this.#of = node;
  };

  override constant(dtype: DType, shape: readonly number[], values: readonly Scalar[]): string {
    const name = this.freshName('constant');
    this.entries.push({ kind: 'constant', name, dtype, shape, values, of: this.#of! });
    return name;
  }

  override node(
    opType: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes = {},
  ): void {
    this.entries.push({ kind: 'node', opType, inputs, outputs, attributes, of: this.#of! });
  }

  /** An exported model has standard operators only. */
  override ownNode(opType: string): never {
    throw new Error(`${opType} is an operator of the addon, which only compiled programs may have`);
  }
}
