import type { Node } from '../../graph/node.ts';
import { isSameData, isSameSequence } from '../../graph/same-data.ts';
import type { ValueType } from '../../value-type.ts';
import { Hash } from './hash.ts';

/** What a node computes: operator, attributes, and types of inputs and outputs. */
export interface Signature {
  /** Different for different signatures. */
  readonly number: number;
  /** Depends on the signature alone, so that it is the same in every process. */
  readonly hash: number;
  readonly op: string;
  readonly attributes: object;
  readonly types: readonly ValueType[];
}

/** The signatures of nodes: one object for equal ones. */
export class Signatures {
  readonly #byHash = new Map<number, Signature[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The signature of a node; undefined if its attributes are not plain data, as those of a collective. */
  of(node: Node): Signature | undefined {
    const { op, attributes, inputs, outputs } = node;
    const hash = hashOf(node);
    if (hash === undefined) return undefined;
    const alike = this.#byHash.get(hash);
    const known = alike?.find((other) => other.op === op && isSame(other, node));
    if (known) return known;
    const types = [...inputs, ...outputs].map(({ dtype, shape }) => ({ dtype, shape }));
    const signature = { number: this.#size, hash, op, attributes, types };
    this.#size += 1;
    if (alike) alike.push(signature);
    else this.#byHash.set(hash, [signature]);
    return signature;
  }
}

function isSame({ attributes, types }: Signature, node: Node): boolean {
  const { inputs, outputs } = node;
  if (types.length !== inputs.length + outputs.length) return false;
  for (let i = 0; i < types.length; i += 1) {
    const { dtype, shape } = i < inputs.length ? inputs[i] : outputs[i - inputs.length];
    if (types[i].dtype !== dtype || !isSameSequence(types[i].shape, shape)) return false;
  }
  return isSameData(attributes, node.attributes);
}

function hashOf({ op, attributes, inputs, outputs }: Node): number | undefined {
  const hash = new Hash();
  hash.addText(op);
  if (!addData(hash, attributes)) return undefined;
  hash.add(inputs.length);
  for (const input of inputs) addType(hash, input);
  for (const output of outputs) addType(hash, output);
  return hash.value;
}

function addType(hash: Hash, { dtype, shape }: ValueType): void {
  hash.addText(dtype);
  for (const size of shape) hash.add(size);
}

/** Returns false for what is not plain data (`isSameData`). */
function addData(hash: Hash, data: unknown): boolean {
  if (typeof data === 'number') hash.add(data);
  else if (typeof data === 'string') hash.addText(data);
  else if (typeof data === 'bigint') hash.add(Number(data));
  else if (typeof data === 'boolean') hash.add(data ? 1 : 0);
  else if (typeof data === 'object' && data !== null) return addMembers(hash, data);
  else return data === undefined || data === null;
  return true;
}

function addMembers(hash: Hash, data: object): boolean {
  if (!Array.isArray(data) && Object.getPrototypeOf(data) !== Object.prototype) return false;
  for (const name in data) {
    if (!addData(hash, (data as Readonly<Record<string, unknown>>)[name])) return false;
  }
  return true;
}
