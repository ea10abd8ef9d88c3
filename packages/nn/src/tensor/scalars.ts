import { positional } from '../calls/arrange.ts';
import type { Value } from '../graph/node.ts';
import type { MatrixMethods } from './matrix-methods.ts';
import type { ValuesAndIndices } from './reduction-methods.ts';

/** The last family, which has all methods. The class itself imports this file. */
type Tensor = MatrixMethods<Tensor>;

/** A method that works along a dimension. */
interface Along {
  /** Position of the dimension among the arguments. */
  readonly place: number;
  /** Default of the dimension. */
  readonly byDefault?: number;
  /** Shape of a result. Default: that of the tensor. */
  readonly shape?: (result: Tensor, x: Tensor, index?: Tensor) => readonly number[];
}

const first: Along = { place: 0 };

const methods: Partial<Record<keyof Tensor, Along>> = {
  softmax: first,
  logSoftmax: first,
  max: first,
  min: first,
  argmax: first,
  argmin: first,
  prod: first,
  cumsum: first,
  median: first,
  sort: { place: 0, byDefault: -1 },
  argsort: { place: 0, byDefault: -1 },
  topk: { place: 1, byDefault: -1 },
  kthvalue: { place: 1, byDefault: -1 },
  squeeze: first,
  transpose: first,
  movedim: first,
  flip: first,
  flatten: { place: 0, byDefault: 0, shape: () => [1] },
  unfold: { place: 0, shape: (result) => result.shape.slice(1) },
  gather: { place: 0, shape: (_, __, index) => index!.shape },
  indexSelect: { place: 0, shape: (result, { shape }) => (shape.length === 0 ? [] : result.shape) },
  scatter: first,
  scatterAdd: first,
};

/**
 * Lets methods along a dimension accept tensors and indices without dimensions: as in torch, such a tensor counts as having one
 * dimension 0 (or −1) with one element, which the result omits.
 */
export function acceptScalars(Class: new (value: Value) => Tensor): void {
  const isTensor = (value: unknown): value is Tensor => value instanceof Class;
  const vector = (value: unknown): unknown =>
    isTensor(value) && value.shape.length === 0 ? value.unsqueeze(0) : value;

  for (const [name, { place, byDefault, shape }] of Object.entries(methods)) {
    const method = Reflect.get(Class.prototype, name) as (...args: unknown[]) => unknown;
    const accepting = function (this: Tensor, ...given: unknown[]): unknown {
      const args = positional(name, given);
      const index = args.find(isTensor);
      const isScalar = this.shape.length === 0 || (this.shape.length === 1 && index?.shape.length === 0);
      const dim = args[place] ?? byDefault;
      if (!isScalar || (dim !== 0 && dim !== -1)) return method.apply(this, args);
      const result = method.apply(vector(this), args.map(vector)) as Tensor | ValuesAndIndices<Tensor>;
      const reshaped = (one: Tensor) => one.view(...(shape?.(one, this, index) ?? this.shape));
      if (isTensor(result)) return reshaped(result);
      return { values: reshaped(result.values), indices: reshaped(result.indices) };
    };
    Object.defineProperty(Class.prototype, name, {
      value: Object.defineProperty(accepting, 'name', { value: name }),
      writable: true,
      configurable: true,
    });
  }
}
