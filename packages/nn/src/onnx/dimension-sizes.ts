import type { DType, Scalar } from '../dtype.ts';
import { exactJson } from '../graph/exact-json.ts';
import type { GraphBuilder } from './graph-builder.ts';
import { dataTypeCode } from './schema.ts';
import { asFraction, type SizeFormula } from './size-formula.ts';

/** A dimension of an input that has a dynamic size. */
export interface DimensionPlace {
  readonly input: string;
  readonly axis: number;
}

type Term = Scalar | SizeFormula;

/** Computes numbers from sizes of inputs when the graph runs, as arrays of one element. */
export class DimensionSizes {
  readonly #graph: GraphBuilder;
  readonly #places: readonly DimensionPlace[];
  readonly #computed = new Map<string, string>();

  constructor(graph: GraphBuilder, places: readonly DimensionPlace[]) {
    this.#graph = graph;
    this.#places = places;
  }

  /** True if the formula is exact: integer formulas need fractions of small integers. */
  canCompute(dtype: DType, { terms, isReciprocal }: SizeFormula): boolean {
    if (dtype === 'float32') return true;
    return (
      dtype === 'int64' && !isReciprocal && terms.every(({ factor }) => asFraction(factor) !== undefined)
    );
  }

  compute(dtype: DType, formula: SizeFormula): string {
    return this.#once(`${dtype} ${exactJson(formula)}`, () =>
      dtype === 'int64' ? this.#integer(formula) : this.#float(formula),
    );
  }

  /** `count` numbers at equal distances. */
  range(dtype: DType, { start, step, count }: { start: Term; step: Term; count: Term }): string {
    const numbers = [start, step, count].map((term) =>
      typeof term === 'object' ? this.compute(dtype, term) : this.#graph.constant(dtype, [1], [term]),
    );
    const end = this.#add('Add', [numbers[0], this.#add('Mul', [numbers[1], numbers[2]])]);
    const scalar = (name: string) => this.#add('Reshape', [name, this.#graph.constant('int64', [0], [])]);
    return this.#add('Range', [scalar(numbers[0]), scalar(end), scalar(numbers[1])]);
  }

  /** Over a common denominator, so that the only division is exact. */
  #integer({ terms }: SizeFormula): string {
    const fractions = terms.map(({ factor }) => asFraction(factor)!);
    const denominator = fractions.reduce((common, one) => leastCommonMultiple(common, one.denominator), 1);
    const products = terms.map(({ positions }, k) => {
      const factor = (fractions[k].numerator * denominator) / fractions[k].denominator;
      return this.#product('int64', positions, factor);
    });
    const sum = products.reduce((total, one) => this.#add('Add', [total, one]));
    return this.#apply('int64', 'Div', sum, denominator);
  }

  #float({ terms, isReciprocal }: SizeFormula): string {
    const [{ factor, positions }] = terms;
    // c / n as one division, so that it rounds like the original number.
    if (isReciprocal && terms.length === 1) {
      const divisor = this.#product('float32', positions, 1);
      return this.#add('Div', [this.#graph.constant('float32', [1], [1 / factor]), divisor]);
    }
    const products = terms.map((term) => this.#product('float32', term.positions, term.factor));
    const sum = products.reduce((total, one) => this.#add('Add', [total, one]));
    return isReciprocal ? this.#add('Div', [this.#graph.constant('float32', [1], [1]), sum]) : sum;
  }

  #product(dtype: DType, positions: readonly number[], factor: number): string {
    if (positions.length === 0) return this.#graph.constant(dtype, [1], [factor]);
    const sizes = positions.map((position) => this.#size(dtype, position));
    const product = sizes.reduce((total, one) => this.#add('Mul', [total, one]));
    return this.#apply(dtype, 'Mul', product, factor);
  }

  #apply(dtype: DType, op: string, to: string, number: number): string {
    return number === 1 ? to : this.#add(op, [to, this.#graph.constant(dtype, [1], [number])]);
  }

  #size(dtype: DType, position: number): string {
    const { input, axis } = this.#places[position];
    const size = this.#once(`size ${position}`, () =>
      this.#add('Shape', [input], { start: axis, end: axis + 1 }),
    );
    if (dtype === 'int64') return size;
    return this.#once(`float ${position}`, () => this.#add('Cast', [size], { to: dataTypeCode.float32 }));
  }

  #once(key: string, write: () => string): string {
    const known = this.#computed.get(key) ?? write();
    this.#computed.set(key, known);
    return known;
  }

  #add(op: string, inputs: readonly string[], attributes: Parameters<GraphBuilder['node']>[3] = {}): string {
    return addNode(this.#graph, op, inputs, attributes);
  }
}

/** Adds a node and returns its output, with a fresh name. */
export function addNode(
  graph: GraphBuilder,
  op: string,
  inputs: readonly string[],
  attributes: Parameters<GraphBuilder['node']>[3] = {},
): string {
  const name = graph.freshName('size');
  graph.node(op, inputs, [name], attributes);
  return name;
}

function leastCommonMultiple(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y > 0) [x, y] = [y, x % y];
  return (a / x) * b;
}
