import { describeValue } from '../checks/describe-value.ts';
import { requireDType } from '../checks/require-dtype.ts';
import { requireOptions } from '../checks/require-options.ts';
import { ArgumentError } from '../errors/errors.ts';
import { isNamed } from './arrange.ts';

/** Numbers one by one or in a list, as torch takes sizes and dimensions: `x.view(2, 3)` or `x.view([2, 3])`. */
export type Spread = readonly number[] | readonly [sizes: readonly number[]];

/** Numbers as in {@link Spread}, or by torch's name: `x.permute({ dims: [1, 0] })`. */
export type SpreadAs<Name extends string> =
  Spread | readonly [options: Readonly<Record<Name, readonly number[]>>];

/** A size one by one or in a list, then options: `zeros(2, 3)`, `zeros([2, 3], { dtype })` or `zeros({ size: [2, 3] })`. */
export type Sized<Options extends object> =
  | [size: readonly number[], options?: Options]
  | number[]
  | [...size: number[], options: Options]
  | [
      options: Options & {
        /** Length of each dimension. */
        size: readonly number[];
      },
    ];

/**
 * The numbers of a call such as `view(2, 3)` or `view([2, 3])`.
 *
 * @param name the function, as in `x.view`
 * @param named torch's name of the list, if it has one: `x.flip({ dims: [0] })`
 * @throws ArgumentError that shows the right call, unless all are integers
 */
export function numbersOf(name: string, given: readonly unknown[], named?: string): readonly number[] {
  const [first] = given;
  const only =
    named !== undefined && isNamed(first) && Object.keys(first).join() === named ? first[named] : first;
  const list: unknown = given.length === 1 && Array.isArray(only) ? only : given;
  if ((list as unknown[]).every((size) => Number.isInteger(size))) return list as readonly number[];
  throw new ArgumentError(
    `${name.slice(name.indexOf('.') + 1)}: expected integers, got ${written(given)}. Write ${name}(2, 3) or ${name}([2, 3]).`,
  );
}

/**
 * Size and options of a call such as `zeros(2, 3)` or `zeros([2, 3], { dtype })`.
 *
 * @param names the options
 */
export function sizedOf<Options extends object>(
  name: string,
  given: readonly unknown[],
  names: Readonly<Record<keyof Options, true>>,
): { shape: readonly number[]; options: Options } {
  const last = given.at(-1);
  const { size, ...options } = isNamed(last) ? last : {};
  requireOptions(name, options, names);
  if ('dtype' in options && options['dtype'] !== undefined) requireDType(name, options['dtype']);
  const sizes = isNamed(last) ? given.slice(0, -1) : given;
  if (size !== undefined && sizes.length > 0) {
    throw new ArgumentError(`${name}: expected one size, got ${written(given)}. Write ${name}([2, 3]).`);
  }
  return { shape: numbersOf(name, size === undefined ? sizes : [size]), options: options as Options };
}

function written(given: readonly unknown[]): string {
  return given.length === 0
    ? 'nothing'
    : given.map((one) => (typeof one === 'object' ? JSON.stringify(one) : describeValue(one))).join(', ');
}
