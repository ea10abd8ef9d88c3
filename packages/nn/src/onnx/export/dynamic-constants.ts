import { exactJson } from '../../onnx-format/exact-json.ts';
import type { Node } from '../../graph/node.ts';
import { describeType, type ValueType } from '../../value-type.ts';
import type { DType, Scalar } from '../../dtype.ts';
import type { Column, Known } from './fit-sum.ts';
import type { GraphBuilder } from '../../onnx-format/graph-builder.ts';
import type { ConstantEntry } from './recording-graph.ts';
import type { SizeExpression } from './size-expression.ts';
import { expressionOf } from './size-solver.ts';
import type { SizeWriter } from './size-writer.ts';
import { arrayExpression } from './array-expression.ts';
import { differenceError, readerOf, type Traces } from './traces.ts';

type Shapes = readonly (readonly Pick<ValueType, 'shape'>[])[];

/** Writes constants whose numbers or shape depend on sizes, as nodes that compute them. */
export class DynamicConstants {
  readonly #writer: SizeWriter;
  readonly #graph: GraphBuilder;
  readonly #traces: Traces;
  /** The sizes of the inputs. */
  readonly #sizes: Known[] = [];
  /** Sizes of the values that the current operation reads. */
  #near: readonly Known[] = [];
  /** All sizes of written values, except sizes that are equal in all calls. */
  readonly #all = new Map<string, Known>();

  constructor(writer: SizeWriter, graph: GraphBuilder, traces: Traces) {
    this.#writer = writer;
    this.#graph = graph;
    this.#traces = traces;
  }

  /** Adds a size of the inputs. */
  addSize(input: string, axis: number, column: Column): void {
    const known = { expression: this.#writer.dimension(input, axis), column };
    this.#sizes.push(known);
    this.#all.set(column.join(), known);
  }

  /** Adds the dimensions of written values, for each call. */
  add(names: readonly (string | undefined)[], values: Shapes): void {
    for (const known of this.#dimensions(names, values)) {
      const key = known.column.join();
      if (!this.#all.has(key)) this.#all.set(key, known);
    }
  }

  /** Sets the values that the current operation reads. */
  read(names: readonly (string | undefined)[], values: Shapes): void {
    const near = new Map(this.#sizes.map((known) => [known.column.join(), known]));
    for (const known of this.#dimensions(names, values)) {
      const key = known.column.join();
      if (!near.has(key)) near.set(key, known);
    }
    this.#near = [...near.values()];
  }

  #dimensions(names: readonly (string | undefined)[], values: Shapes): Known[] {
    return names.flatMap((name, position) => {
      if (name === undefined) return [];
      return values[0][position].shape.flatMap((_, axis) => {
        const column = values.map((call) => call[position].shape[axis]);
        return isVarying(column) ? [{ expression: this.#writer.dimension(name, axis), column }] : [];
      });
    });
  }

  /** Writes a constant and returns its name. */
  write(constants: readonly ConstantEntry[], isShapeOfReshape: boolean): string {
    const [{ dtype, shape, values }] = constants;
    const of = () => readerOf(this.#traces.entries[0], constants[0]);
    const dimensions = shape.map((_, axis) =>
      this.#expression(
        constants.map((constant) => constant.shape[axis]),
        of,
        'a size',
      ),
    );
    if (dimensions.some((dimension) => typeof dimension !== 'number')) {
      return this.#array(constants, dimensions, of);
    }
    const columns = values.map((_, index) => constants.map((constant) => constant.values[index]));
    if (!columns.some(isVarying)) return this.#graph.constant(dtype, shape, values);
    const expressions = columns.map((column) => this.#expression(column, of, 'a number', dtype));
    return this.#joined(dtype, shape, isShapeOfReshape ? withOpenDimension(expressions) : expressions);
  }

  /** Writes a list of numbers, given for each call. */
  vector(dtype: DType, lists: readonly (readonly number[])[], of: () => Node): string {
    const expressions = lists[0].map((_, index) =>
      this.#expression(
        lists.map((list) => list[index]),
        of,
        'a number',
        dtype,
      ),
    );
    return this.#joined(dtype, [expressions.length], expressions);
  }

  #expression<Number extends Scalar>(
    column: readonly Number[],
    of: () => Node,
    what: string,
    dtype: DType = 'int64',
  ): SizeExpression | Number {
    if (!isVarying(column)) return column[0];
    const near = new Set(this.#near.map((known) => known.column.join()));
    const far = [...this.#all].filter(([key]) => !near.has(key)).map(([, known]) => known);
    const expression = areNumbers(column) ? expressionOf(column, this.#near, far) : undefined;
    if (expression !== undefined && dtype !== 'bool') return expression;
    throw differenceError(this.#traces, of(), `${what} in it`, column.map(String));
  }

  #joined(dtype: DType, shape: readonly number[], expressions: readonly (SizeExpression | bigint)[]): string {
    const parts = expressions.map((expression) =>
      typeof expression === 'bigint'
        ? this.#graph.constant(dtype, [1], [expression])
        : this.#writer.compute(dtype, expression),
    );
    const flat = parts.length === 1 ? parts[0] : this.#writer.add('Concat', parts, { axis: 0 });
    if (shape.length === 1) return flat;
    return this.#writer.add('Reshape', [flat, this.#graph.constant('int64', [shape.length], shape)]);
  }

  /** An array whose size is dynamic: one number everywhere, or an expression of the indices. */
  #array(constants: readonly ConstantEntry[], dimensions: readonly SizeExpression[], of: () => Node): string {
    const [{ dtype }] = constants;
    const indices = dimensions.map((count, axis) => this.#writer.indices(count, axis, dimensions.length));
    const expression = constants.every(hasNumbers)
      ? arrayExpression(constants, this.#near, indices)
      : undefined;
    if (expression === undefined) {
      const types = constants.map((constant) => describeType(constant));
      throw differenceError(this.#traces, of(), 'an array of numbers in it', types);
    }
    const numbers =
      typeof expression === 'number'
        ? this.#graph.constant(dtype, [1], [expression])
        : this.#writer.compute(dtype, expression);
    // An array with one axis gets its length from the indices; others may lack axes that the expression does not read.
    if (dimensions.length === 1 && exactJson(expression).includes(exactJson(indices[0]))) return numbers;
    return this.#writer.add('Expand', [numbers, this.#joined('int64', [dimensions.length], dimensions)]);
  }
}

/** True if the numbers are not equal in all calls. */
function isVarying(column: readonly Scalar[]): boolean {
  return column.some((number) => !Object.is(number, column[0]));
}

/** False if any element is a bigint, which no expression of sizes produces. */
function areNumbers(scalars: readonly Scalar[]): scalars is readonly number[] {
  return scalars.every((scalar) => typeof scalar === 'number');
}

function hasNumbers(constant: ConstantEntry): constant is ConstantEntry & { values: readonly number[] } {
  return areNumbers(constant.values);
}

/** One size of a Reshape may be left to the operator, which infers it exactly: the most expensive one to compute. */
function withOpenDimension(
  expressions: readonly (SizeExpression | bigint)[],
): readonly (SizeExpression | bigint)[] {
  const dynamic = [...expressions.keys()].filter((axis) => typeof expressions[axis] === 'object');
  if (expressions.some((expression) => expression === -1 || expression === 0)) return expressions;
  const cost = (axis: number) => exactJson(expressions[axis]).length;
  const open = dynamic.reduce((most, axis) => (cost(axis) > cost(most) ? axis : most));
  return expressions.with(open, -1);
}
