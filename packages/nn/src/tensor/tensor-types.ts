import type { Scalar } from '../dtype.ts';
import type { ValuesAndIndices as ValuesAndIndicesOf } from './reduction-methods.ts';
import type { Tensor } from './tensor.ts';

/**
 * A tensor, number, bigint or boolean. Numbers are inputs of the program, so a different one does not recompile it. Both sides of an
 * operation are promoted to one dtype as in torch: the highest of bool, int64 and float32, where an integer counts as int64
 * and another number as float32. `x.add(1)` on int64 is int64 and exact, `x.add(1.5)` is float32. JavaScript does not
 * distinguish 1.0 from 1. A number of 2^63 or more also counts as float32. Of two floats, a tensor without dimensions does not
 * change the dtype of one with dimensions, and a number changes neither.
 */
export type Operand = Tensor | Scalar | boolean;

/**
 * An index of {@link Tensor.at}: a number selects and removes a dimension, `[start, end, step]` is Python's
 * `start:end:step` (null or omitted: to the end), an int64 tensor of one dimension selects several, `null` inserts a
 * dimension of size 1, and `'...'` stands for all dimensions that are not indexed.
 */
export type Index = number | readonly (number | null)[] | Tensor | null | '...';

/** Elements and their positions (int64). */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- a name without a type parameter, documented member by member
export interface ValuesAndIndices extends ValuesAndIndicesOf<Tensor> {}
