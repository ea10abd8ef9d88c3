import { Tensor, type DType } from '../../src/index.ts';
import { Float, Other, Slice, type Decoded } from './sample.ts';

/** A torch call without a counterpart in ringrun: the reason becomes a line of the table. */
export class NoCounterpart extends Error {}

/**
 * The arguments of a torch call by name. Reading one marks it, so that an argument that a mapping does not read is never
 * ignored: see `requireAllRead`.
 */
export class Given {
  readonly #values: ReadonlyMap<string, Decoded>;
  readonly #unread: Set<string>;

  constructor(values: Readonly<Record<string, Decoded>>) {
    this.#values = new Map(Object.entries(values).filter(([, value]) => value !== undefined));
    this.#unread = new Set(this.#values.keys());
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** The raw argument; undefined for None and where torch's default applies. */
  any(name: string): Decoded {
    this.#unread.delete(name);
    return this.#values.get(name);
  }

  tensor(name: string): Tensor {
    const value = this.any(name);
    if (value instanceof Tensor) return value;
    throw new NoCounterpart(`\`${name}\` is a tensor`);
  }

  optionalTensor(name: string): Tensor | undefined {
    return this.has(name) ? this.tensor(name) : undefined;
  }

  tensors(name: string): Tensor[] {
    const value = this.any(name);
    const list = value instanceof Tensor ? [value] : value;
    if (Array.isArray(list) && list.every((one) => one instanceof Tensor)) return list;
    throw new NoCounterpart(`\`${name}\` is a list of tensors`);
  }

  /** A tensor or a number; JavaScript has no 2.0, which torch distinguishes from 2 when combined with integers. */
  operand(name: string, beside?: Tensor): Tensor | number {
    const value = this.any(name);
    if (value instanceof Tensor) return value;
    if (value instanceof Float && beside && beside.dtype !== 'float32' && Number.isInteger(value.value)) {
      throw new NoCounterpart('a float such as 2.0 beside integers: JavaScript does not tell it from 2');
    }
    if (typeof value === 'bigint') return value as unknown as number;
    if (typeof value === 'boolean') throw new NoCounterpart(`\`${name}\` is a number, not true or false`);
    return this.number(name)!;
  }

  number(name: string): number | undefined {
    const value = this.any(name);
    if (value instanceof Float) return value.value;
    if (value === undefined || typeof value === 'number') return value;
    throw this.#otherType(name, 'a number', value);
  }

  /** A list of numbers; a single number becomes a list of one. */
  numbers(name: string): number[] | undefined {
    const value = this.any(name);
    if (value === undefined) return value;
    const list = Array.isArray(value) ? (value as Decoded[]) : [value];
    return list.map((one) => {
      if (one instanceof Float) return one.value;
      if (typeof one === 'number') return one;
      throw this.#otherType(name, 'numbers', one);
    });
  }

  /** One number, or a list of them, as for window sizes. */
  sizes(name: string): number | number[] | undefined {
    const value = this.any(name);
    return Array.isArray(value) ? this.numbers(name) : this.number(name);
  }

  flag(name: string): boolean | undefined {
    const value = this.any(name);
    if (value === undefined || typeof value === 'boolean') return value;
    if (typeof value === 'number') return value !== 0;
    throw this.#otherType(name, 'true or false', value);
  }

  string(name: string): string | undefined {
    const value = this.any(name);
    if (value === undefined || typeof value === 'string') return value;
    throw this.#otherType(name, 'a string', value);
  }

  dtype(name: string): DType | undefined {
    const value = this.string(name);
    if (value === undefined || value === 'float32' || value === 'int64' || value === 'bool') return value;
    throw new NoCounterpart('other dtypes than float32, int64 and bool');
  }

  /** Reads arguments that choose an implementation or a place in memory and change no element. */
  ignore(...names: string[]): void {
    for (const name of names) this.#unread.delete(name);
  }

  requireAllRead(): void {
    for (const name of this.#unread) throw new NoCounterpart(`the argument \`${name}\``);
  }

  #otherType(name: string, expected: string, value: Decoded): NoCounterpart {
    if (value instanceof Tensor) return new NoCounterpart(`\`${name}\` is ${expected}, not a tensor`);
    if (value instanceof Other && value.what === 'complex') return new NoCounterpart('complex numbers');
    const what = value instanceof Slice ? 'a slice' : value instanceof Other ? value.what : typeof value;
    return new NoCounterpart(`\`${name}\` is ${expected}, not ${what}`);
  }
}
