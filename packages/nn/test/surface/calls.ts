import { zeros, type DType, type Tensor } from '../../src/index.ts';

/** Calls of one function with a tensor; each may reject it. */
export type Calls = readonly ((x: Tensor) => unknown)[];

/** Calls of every function under its name. */
export type CallTable = Readonly<Record<string, Calls>>;

/** One entry for each of several functions. */
export function forEach<Name extends string>(
  names: readonly Name[],
  calls: (name: Name) => Calls,
): CallTable {
  return Object.fromEntries(names.map((name) => [name, calls(name)]));
}

/** Zeros, as many as a dimension of x is long. */
export function zerosAlong(x: Tensor, dim: number, dtype: DType = 'float32'): Tensor {
  return zeros([x.shape.at(dim) ?? 1], { dtype });
}

/** int64 zeros of the shape of x. */
export function indices(x: Tensor, shape = x.shape): Tensor {
  return zeros(shape, { dtype: 'int64' });
}
