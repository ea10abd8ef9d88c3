import type { Node, Value } from '../graph/node.ts';
import type { GraphBuilder } from './graph-builder.ts';
import { dataTypeCode } from './type-codes.ts';
import { inFloat32 } from '../value-type.ts';

/**
 * The names of values in an emitted graph. A value of bfloat16 has up to two: its own elements, and the same numbers in float32
 * for the operators that do not take it. Each is emitted when an operator first reads it.
 */
export class EmittedNames {
  readonly #graph: GraphBuilder;
  readonly #names = new Map<Value, string>();
  readonly #inFloat32 = new Map<Value, string>();

  constructor(graph: GraphBuilder) {
    this.#graph = graph;
  }

  has(value: Value): boolean {
    return this.#names.has(value) || this.#inFloat32.has(value);
  }

  /** Sets the name of elements in the dtype of the value. */
  set(value: Value, name: string): void {
    this.#names.set(value, name);
  }

  /** Sets the name of elements that bfloat16 represents, in float32: leaves, and values of other dtypes. */
  setInFloat32(value: Value, name: string): void {
    if (value.dtype === 'bfloat16') this.#inFloat32.set(value, name);
    else this.#names.set(value, name);
  }

  /** Sets the name of a result in float32, which a value of bfloat16 rounds. */
  setComputed(value: Value, name: string): void {
    this.set(value, value.dtype === 'bfloat16' && name !== '' ? this.#cast(name, 'bfloat16') : name);
  }

  /** The elements in the dtype of the value. */
  of(value: Value): string {
    const known = this.#names.get(value);
    if (known !== undefined) return known;
    const name = this.#cast(this.#inFloat32.get(value)!, 'bfloat16');
    this.#names.set(value, name);
    return name;
  }

  /** The elements, those of bfloat16 in float32. */
  inFloat32(value: Value): string {
    if (value.dtype !== 'bfloat16') return this.of(value);
    const known = this.#inFloat32.get(value);
    if (known !== undefined) return known;
    const name = this.#cast(this.of(value), 'float32');
    this.#inFloat32.set(value, name);
    return name;
  }

  #cast(name: string, to: 'bfloat16' | 'float32'): string {
    const result = this.#graph.freshName(to);
    this.#graph.node('Cast', [name], [result], { to: dataTypeCode[to] });
    return result;
  }
}

/** A node with the types that it is emitted with: bfloat16 as float32. */
export function viewInFloat32(node: Node): Node {
  if (![...node.inputs, ...node.outputs].some(({ dtype }) => dtype === 'bfloat16')) return node;
  const inTypes = (values: readonly Value[]) => values.map((value) => ({ ...value, ...inFloat32(value) }));
  return { ...node, inputs: inTypes(node.inputs), outputs: inTypes(node.outputs) };
}
