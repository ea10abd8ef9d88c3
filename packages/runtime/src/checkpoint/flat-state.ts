import { InvalidArgumentError, printable } from '@ringrun/core';
import { CheckpointError } from './checkpoint-error.ts';
import { describeJson } from './describe-json.ts';
import { safetensorsDtype } from './safetensors.ts';
import type { ArrayWithShape, ElementArray } from './safetensors.ts';

/**
 * A state dict without its tensors, as JSON. A value that JSON cannot represent is an object whose `$` is its
 * type; a tensor is the key under which it is stored elsewhere.
 */
export type Tree =
  null | boolean | number | string | readonly Tree[] | { readonly [key: string]: Tree } | { $: string };

/** Levels of arrays and objects in each other. */
const maxDepth = 500;

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
    if (path.length >= maxDepth)
      throw this.#refusal(path.slice(0, 3), `nested in more than ${maxDepth} levels`);
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

/**
 * Reverses `flatten`.
 *
 * @param tensorOf returns the tensor stored under a key; undefined if there is none
 * @param names the state, and the place of its tensors, in errors
 * @throws CheckpointError with the path of a value that `flatten` does not write
 */
export function unflatten(
  tree: Tree,
  tensorOf: (key: string) => ArrayWithShape | undefined,
  { name = 'the state', place = 'its files' } = {},
): unknown {
  return new Unflattening(name, place, tensorOf).valueIn(tree, []);
}

/** Digits of a BigInt. */
const maxDigits = 100_000;

class Unflattening {
  readonly #name: string;
  readonly #place: string;
  readonly #tensorOf: (key: string) => ArrayWithShape | undefined;

  constructor(name: string, place: string, tensorOf: (key: string) => ArrayWithShape | undefined) {
    this.#name = name;
    this.#place = place;
    this.#tensorOf = tensorOf;
  }

  valueIn(tree: unknown, path: readonly string[]): unknown {
    if (typeof tree !== 'object' || tree === null) return tree;
    if (path.length >= maxDepth)
      throw this.#wrong(path.slice(0, 3), `at most ${maxDepth} levels of nesting`, 'more');
    if (Array.isArray(tree)) return tree.map((value, i) => this.valueIn(value, [...path, String(i)]));
    const node = tree as Readonly<Record<string, unknown>>;
    if (Object.hasOwn(node, '$')) return this.#tagged(node, path);
    const entries = Object.entries(node);
    return Object.fromEntries(entries.map(([key, value]) => this.#field(key, value, path)));
  }

  #tagged(node: Readonly<Record<string, unknown>>, path: readonly string[]): unknown {
    const { $: tag, value } = node;
    switch (tag) {
      case 'number':
        if (!['NaN', 'Infinity', '-Infinity', '-0'].includes(value as string))
          throw this.#wrong(path, 'NaN, Infinity, -Infinity or -0', describeJson(value));
        return Number(value);
      case 'bigint':
        if (typeof value !== 'string' || value.length > maxDigits || !/^-?\d+$/.test(value))
          throw this.#wrong(path, `at most ${maxDigits} digits`, describeJson(value));
        return BigInt(value);
      case 'undefined':
        return undefined;
      case 'array':
        return this.#tensorIn(node, path).data;
      case 'tensor':
        return this.#tensorIn(node, path);
      case 'date':
        // JSON has no NaN, which is the time of an invalid date.
        if (typeof value !== 'number' && value !== null)
          throw this.#wrong(path, 'milliseconds', describeJson(value));
        return new Date(value ?? NaN);
      case 'set':
        return new Set(
          this.#list(node.values, path).map((item, i) => this.valueIn(item, [...path, String(i)])),
        );
      case 'map':
        return new Map(
          this.#pairs(node.entries, path).map(([key, item]) => [
            this.valueIn(key, [...path, 'key']),
            this.valueIn(item, [...path, shortKey(key)]),
          ]),
        );
      case 'object':
        return Object.fromEntries(
          this.#pairs(node.entries, path).map(([key, item]) => {
            if (typeof key === 'string') return this.#field(key, item, path);
            throw this.#wrong(path, 'a key that is a string', describeJson(key));
          }),
        );
      default:
        throw this.#wrong(path, 'a known type in $', describeJson(tag));
    }
  }

  /** `Object.fromEntries` makes a key `__proto__` a property, not the prototype. */
  #field(key: string, value: unknown, path: readonly string[]): [string, unknown] {
    return [key, this.valueIn(value, [...path, key])];
  }

  #tensorIn({ key }: Readonly<Record<string, unknown>>, path: readonly string[]): ArrayWithShape {
    const tensor = typeof key === 'string' ? this.#tensorOf(key) : undefined;
    if (tensor !== undefined) return tensor;
    throw this.#wrong(path, `the key of a tensor in ${this.#place}`, describeJson(key));
  }

  #list(value: unknown, path: readonly string[]): unknown[] {
    if (Array.isArray(value)) return value;
    throw this.#wrong(path, 'an array', describeJson(value));
  }

  #pairs(value: unknown, path: readonly string[]): [unknown, unknown][] {
    const pairs = this.#list(value, path);
    const odd = pairs.find((pair) => !Array.isArray(pair) || pair.length !== 2);
    if (odd === undefined) return pairs as [unknown, unknown][];
    throw this.#wrong(path, 'pairs of a key and a value', describeJson(odd));
  }

  #wrong(path: readonly string[], expected: string, got: string): CheckpointError {
    const field = printable([this.#name, ...path].join('.'), 300);
    return new CheckpointError('damaged', `${field}: expected ${expected}, got ${got}`);
  }
}

function shortKey(key: unknown): string {
  return typeof key === 'string' || typeof key === 'number' ? String(key) : 'value';
}
