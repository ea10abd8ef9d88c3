import { ArgumentError } from '../../errors/errors.ts';
import type { DType } from '../../dtype.ts';
import { exactJson } from '../../onnx-format/exact-json.ts';
import type { GraphBuilder } from '../../onnx-format/graph-builder.ts';
import { dataTypeCode } from '../../onnx-format/type-codes.ts';
import {
  asFraction,
  type Dimension,
  type SizeFunction,
  type SizeExpression,
  type Sum,
} from './size-expression.ts';

/** A dimension of a value of the exported graph. */
interface Place {
  readonly value: string;
  readonly axis: number;
}

/** The indices along an axis of an array of `rank` dimensions. */
interface Indices {
  readonly count: SizeExpression;
  readonly axis: number;
  readonly rank: number;
}

/** Adds nodes that compute numbers from the sizes of values when the exported graph runs. */
export class SizeWriter {
  readonly #graph: GraphBuilder;
  readonly #dimensions: (Place | Indices)[] = [];
  /** The numbers of the dimensions. */
  readonly #numbers = new Map<string, number>();
  readonly #computed = new Map<string, string>();

  constructor(graph: GraphBuilder) {
    this.#graph = graph;
  }

  /** The size of a dimension of a value that was written. */
  dimension(value: string, axis: number): Dimension {
    return this.#numbered({ value, axis });
  }

  /** The indices 0, 1, … along an axis of an array, whose shape broadcasts to that of the array. */
  indices(count: SizeExpression, axis: number, rank: number): Dimension {
    return this.#numbered({ count, axis, rank });
  }

  /** Writes an expression: an array of one element, or of the indices that the expression contains. */
  compute(dtype: DType, expression: SizeExpression): string {
    return this.#once(`${dtype} ${exactJson(expression)}`, () => {
      if (dtype === 'int64') return this.#integer(expression);
      if (isWhole(expression)) {
        return this.add('Cast', [this.compute('int64', expression)], { to: dataTypeCode[dtype] });
      }
      return this.#float(expression);
    });
  }

  /** Adds a node and returns its output, with a fresh name. */
  add(op: string, inputs: readonly string[], attributes: Parameters<GraphBuilder['node']>[3] = {}): string {
    const name = this.#graph.freshName('size');
    this.#graph.node(op, inputs, [name], attributes);
    return name;
  }

  #integer(expression: SizeExpression): string {
    if (typeof expression === 'number') return this.#number('int64', expression);
    switch (expression.op) {
      case 'Dimension':
        return this.#dimension(expression);
      case 'Sum':
        return this.#integerSum(expression);
      case 'FloorDiv':
        return this.#floorDiv(expression);
      case 'Mod':
        return this.add('Mod', this.#operands('int64', expression));
      case 'Max':
      case 'Min': {
        const [a, b] = this.#operands('int64', expression);
        // Max and Min of int64 are not exact in every version of onnxruntime.
        const isLeft = this.add(expression.op === 'Max' ? 'Greater' : 'Less', [a, b]);
        return this.add('Where', [isLeft, a, b]);
      }
      case 'Choice': {
        const { index, values } = expression;
        const table = this.#graph.constant('int64', [values.length], values);
        return this.add('Gather', [table, this.compute('int64', index)]);
      }
      case 'Div':
        throw new ArgumentError('exportOnnx: expected a whole number of sizes, got a quotient.');
    }
  }

  /** ONNX's Div of integers rounds towards 0. */
  #floorDiv(expression: SizeFunction): string {
    const [a, b] = this.#operands('int64', expression);
    if (isNeverNegative(expression.a)) return this.add('Div', [a, b]);
    return this.add('Div', [this.add('Sub', [a, this.add('Mod', [a, b])]), b]);
  }

  /** Over a common denominator, so that the only division is exact. */
  #integerSum({ terms }: Sum): string {
    const fractions = terms.map(({ factor }) => asFraction(factor)!);
    const denominator = fractions.reduce((common, one) => leastCommonMultiple(common, one.denominator), 1);
    const products = terms.map(({ of }, index) => {
      const factor = (fractions[index].numerator * denominator) / fractions[index].denominator;
      return this.#product('int64', of, factor);
    });
    const sum = products.reduce((total, one) => this.add('Add', [total, one]));
    return this.#apply('int64', 'Div', sum, denominator);
  }

  #float(expression: SizeExpression): string {
    if (typeof expression === 'number') return this.#number('float32', expression);
    if (expression.op === 'Div') return this.add('Div', this.#operands('float32', expression));
    const { terms } = expression as Sum;
    return terms
      .map(({ factor, of }) => this.#product('float32', of, factor))
      .reduce((total, one) => this.add('Add', [total, one]));
  }

  #operands(dtype: DType, { a, b }: SizeFunction): [a: string, b: string] {
    return [this.compute(dtype, a), this.compute(dtype, b)];
  }

  #product(dtype: DType, of: readonly SizeExpression[], factor: number): string {
    if (of.length === 0) return this.#number(dtype, factor);
    const product = of
      .map((one) => this.compute(dtype, one))
      .reduce((total, one) => this.add('Mul', [total, one]));
    return this.#apply(dtype, 'Mul', product, factor);
  }

  #apply(dtype: DType, op: string, to: string, number: number): string {
    return number === 1 ? to : this.add(op, [to, this.#number(dtype, number)]);
  }

  #number(dtype: DType, number: number): string {
    return this.#graph.constant(dtype, [1], [number]);
  }

  #dimension({ index }: Dimension): string {
    const dimension = this.#dimensions[index];
    if ('value' in dimension) {
      const { value, axis } = dimension;
      return this.add('Shape', [value], { start: axis, end: axis + 1 });
    }
    const { count, axis, rank } = dimension;
    const scalar = (name: string) => this.add('Reshape', [name, this.#graph.constant('int64', [0], [])]);
    const [zero, one] = [0, 1].map((number) => this.#graph.constant('int64', [], [number]));
    const range = this.add('Range', [zero, scalar(this.compute('int64', count)), one]);
    if (rank === 1) return range;
    const shape = Array<number>(rank).fill(1).with(axis, -1);
    return this.add('Reshape', [range, this.#graph.constant('int64', [rank], shape)]);
  }

  #numbered(dimension: Place | Indices): Dimension {
    const key = exactJson(dimension);
    const index = this.#numbers.get(key) ?? this.#dimensions.push(dimension) - 1;
    this.#numbers.set(key, index);
    return { op: 'Dimension', index };
  }

  #once(key: string, write: () => string): string {
    const known = this.#computed.get(key) ?? write();
    this.#computed.set(key, known);
    return known;
  }
}

/** True if all parts are whole numbers, so that it can be computed in int64. */
function isWhole(expression: SizeExpression): boolean {
  if (typeof expression === 'number') return Number.isSafeInteger(expression);
  if (expression.op === 'Dimension') return true;
  if (expression.op === 'Sum') {
    return expression.terms.every(({ factor, of }) => Number.isSafeInteger(factor) && of.every(isWhole));
  }
  if (expression.op === 'Choice') return expression.values.every(Number.isSafeInteger);
  return expression.op !== 'Div' && isWhole(expression.a) && isWhole(expression.b);
}

function isNeverNegative(expression: SizeExpression): boolean {
  if (typeof expression === 'number') return expression >= 0;
  if (expression.op === 'Dimension') return true;
  return (
    expression.op === 'Sum' &&
    expression.terms.every(({ factor, of }) => factor >= 0 && of.every(isNeverNegative))
  );
}

function leastCommonMultiple(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y > 0) [x, y] = [y, x % y];
  return (a / x) * b;
}
