import { InvalidArgumentError } from '@ringrun/core';
import { safetensorsDtype } from './safetensors.ts';
import type { ArrayWithShape, ElementArray } from './safetensors.ts';

/**
 * A state dict without its tensors, as JSON. A value that JSON cannot represent is an object whose `$` is its
 * type; a tensor is the key under which it is stored elsewhere.
 */
export type Tree =
  null | boolean | number | string | readonly Tree[] | { readonly [key: string]: Tree } | { $: string };

/** A state dict, split into JSON and tensors. */
export interface FlatState {
  tree: Tree;
  /** Tensors by their path in the state dict, such as `state.0.expAvg`. The arrays are not copied. */
  tensors: Map<string, ArrayWithShape>;
}

/**
 * Splits a state dict. It may contain JSON values, plain objects, Maps, Sets, Dates, BigInts, undefined,
 * typed arrays, and tensors, which are objects `{ shape, data }`.
 *
 * @param name name of `state` in errors
 * @throws InvalidArgumentError with the path of any other value, or of a cycle
 */
export function flatten(state: unknown, name: string): FlatState {
  const flattening = new Flattening(name);
  const tree = flattening.treeOf(state, []);
  return { tree, tensors: flattening.tensors };
}

class Flattening {
  readonly tensors = new Map<string, ArrayWithShape>();
  readonly #name: string;
  /** The ancestors of the current object, to detect cycles. */
  readonly #around = new Set<object>();

  constructor(name: string) {
    this.#name = name;
  }

  treeOf(value: unknown, path: readonly string[]): Tree {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : { $: 'number', value: Object.is(value, -0) ? '-0' : String(value) };
      case 'bigint':
        return { $: 'bigint', value: String(value) };
      case 'undefined':
        return { $: 'undefined' };
      case 'object':
        return value === null ? null : this.#ofObject(value, path);
      case 'function':
      case 'symbol':
        throw this.#refusal(path, `a ${typeof value}`);
    }
  }

  #ofObject(value: object, path: readonly string[]): Tree {
    if (this.#around.has(value)) throw this.#refusal(path, 'an object that contains itself');
    this.#around.add(value);
    const tree = this.#ofCompound(value, path);
    this.#around.delete(value);
    return tree;
  }

  #ofCompound(value: object, path: readonly string[]): Tree {
    if (safetensorsDtype(value) !== undefined) {
      const data = value as ElementArray;
      return { $: 'array', key: this.#keep(path, { shape: [data.length], data }) };
    }
    if (isTensor(value)) return { $: 'tensor', key: this.#keep(path, value) };
    const within = (child: unknown, step: unknown) => this.treeOf(child, [...path, String(step)]);
    if (Array.isArray(value)) {
      // `map` skips holes, which JSON would turn into null.
      const hole = Array.from(value.keys()).find((index) => !(index in value));
      if (hole !== undefined) throw this.#refusal([...path, String(hole)], 'a hole in an array');
      return value.map(within);
    }
    if (value instanceof Date) return { $: 'date', value: value.getTime() };
    if (value instanceof Set) return { $: 'set', values: [...value].map(within) };
    if (value instanceof Map) {
      const entries = Array.from(value, ([key, child]) => [this.treeOf(key, path), within(child, key)]);
      return { $: 'map', entries };
    }
    if (!isPlain(value)) throw this.#refusal(path, `an object of class ${value.constructor.name}`);
    const entries = Object.entries(value).map(([key, child]) => [key, within(child, key)] as const);
    return '$' in value ? { $: 'object', entries } : Object.fromEntries(entries);
  }

  /**
   * Stores a tensor under its path and returns the key. If two tensors have the same path, such as `a.b` and
   * `b` in `a`, the second one's key is extended with `_`.
   */
  #keep(path: readonly string[], tensor: ArrayWithShape): string {
    let key = path.join('.');
    while (key === '' || this.tensors.has(key)) key += '_';
    this.tensors.set(key, { shape: tensor.shape, data: tensor.data });
    return key;
  }

  #refusal(path: readonly string[], what: string): InvalidArgumentError {
    return new InvalidArgumentError(
      `${[this.#name, ...path].join('.')} is ${what}, which a checkpoint cannot hold. Leave it out of stateDict(), or save the values it consists of.`,
    );
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // Objects of another realm have a different Object.prototype.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Whether `value` has exactly the keys `shape` and `data`, and the shape matches the number of elements. */
export function isTensor(value: unknown): value is ArrayWithShape {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 2) return false;
  const { shape, data } = value as Partial<ArrayWithShape>;
  if (!Array.isArray(shape) || safetensorsDtype(data) === undefined) return false;
  return shape.reduce<number>((product, size) => product * size, 1) === data!.length;
}

/** Reverses `flatten`. `tensorOf` returns the tensor stored under a key. */
export function unflatten(tree: Tree, tensorOf: (key: string) => ArrayWithShape): unknown {
  const whole = (part: Tree) => unflatten(part, tensorOf);
  if (typeof tree !== 'object' || tree === null) return tree;
  if (Array.isArray(tree)) return tree.map(whole);
  const node = tree as Readonly<Record<string, Tree>>;
  const pairs = node.entries as readonly (readonly [Tree, Tree])[];
  switch (node.$ as string) {
    case 'number':
      return Number(node.value);
    case 'bigint':
      return BigInt(node.value as string);
    case 'undefined':
      return undefined;
    case 'array':
      return tensorOf(node.key as string).data;
    case 'tensor':
      return tensorOf(node.key as string);
    case 'date':
      return new Date(node.value as number);
    case 'set':
      return new Set((node.values as readonly Tree[]).map(whole));
    case 'map':
      return new Map(pairs.map(([key, value]) => [whole(key), whole(value)]));
    case 'object':
      return Object.fromEntries(pairs.map(([key, value]) => [key, whole(value)]));
    default:
      return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, whole(value)]));
  }
}
