import { positional } from '../calls/arrange.ts';
import type { Value } from '../graph/node.ts';
import { isWideInAutocast } from './autocast.ts';
import type { MatrixMethods } from './matrix-methods.ts';
import { isNarrow, roundedOnce } from './rounded-once.ts';

/** The last family, which has all methods. The class itself imports this file. */
type Tensor = MatrixMethods<Tensor>;

/** Methods of several operations. The others round once by themselves, or only move elements. */
const composed = [
  ...([
    'fmod',
    'remainder',
    'floorDivide',
    'lerp',
    'pow',
    'rsqrt',
    'exp2',
    'expm1',
    'log1p',
    'log2',
    'log10',
  ] as const),
  ...(['logaddexp', 'xlogy', 'logit', 'frac'] as const),
  ...(['var', 'std', 'norm', 'logsumexp', 'prod', 'nanmean', 'dist'] as const),
] satisfies (keyof Tensor)[];

/** Lets methods of several operations round once. */
export function roundMethodsOnce(Class: new (value: Value) => Tensor): void {
  const isTensor = (value: unknown): value is Tensor => value instanceof Class;
  for (const name of composed) {
    const method = Reflect.get(Class.prototype, name) as (...args: unknown[]) => Tensor;
    const rounding = function (this: Tensor, ...given: unknown[]): Tensor {
      const args = positional(name, given);
      const operands = [this, ...args.filter(isTensor)];
      if (!isNarrow(...operands) || isWideInAutocast(name)) return method.apply(this, args);
      return roundedOnce(operands, (...wide) => {
        const others = wide.slice(1)[Symbol.iterator]();
        return method.apply(
          wide[0],
          args.map((one) => (isTensor(one) ? others.next().value : one)),
        );
      });
    };
    Object.defineProperty(Class.prototype, name, {
      value: Object.defineProperty(rounding, 'name', { value: name }),
      writable: true,
      configurable: true,
    });
  }
}
