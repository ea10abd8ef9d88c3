import { Tensor, type ValuesAndIndices } from '../../src/index.ts';
import { Given, NoCounterpart } from './given.ts';
import type { Decoded } from './sample.ts';

/** The result of a call: tensors, or sizes and booleans that are not tensors in ringrun. */
export type Result =
  Tensor | ValuesAndIndices | number | boolean | readonly Result[] | { readonly [name: string]: Result };

/** Maps a torch operation to ringrun. */
export interface Operation {
  /** Names of torch's parameters after the first, in order. */
  readonly names: readonly string[];
  readonly call: (input: Tensor, given: Given) => Result;
  /** Outputs that torch leaves unspecified for equal elements, such as positions. */
  readonly open?: readonly number[];
  /** The kind of the first argument: a list or a string. Default: a tensor. */
  readonly takesOther?: true;
}

/** An operation of a tensor; the names of torch's other parameters are separated by spaces. */
export function op(
  names: string,
  call: Operation['call'],
  { open }: Pick<Operation, 'open'> = {},
): Operation {
  return { names: names.split(' ').filter(Boolean), call, ...(open && { open }) };
}

/** An operation whose first argument is a list of tensors. */
export function listOp(names: string, call: (tensors: readonly Tensor[], given: Given) => Result): Operation {
  return {
    names: names.split(' ').filter(Boolean),
    call: (list, given) => call(list as unknown as readonly Tensor[], given),
    takesOther: true,
  };
}

/** Calls ringrun with torch's arguments. */
export function callOperation(
  { names, call, takesOther }: Operation,
  [input, args, options]: readonly Decoded[],
): Result {
  const positional = args as readonly Decoded[];
  if (positional.length > names.length)
    throw new NoCounterpart(`more than ${names.length} positional arguments`);
  const given = new Given({
    input,
    ...Object.fromEntries(positional.map((value, place) => [names[place], value])),
    ...(options as Record<string, Decoded>),
  });
  const first = takesOther ? given.any('input') : given.tensor('input');
  const result = call(first as Tensor, given);
  given.requireAllRead();
  return result;
}

/** The tensors of a result in order. */
export function tensorsOf(result: Result): Tensor[] {
  if (result instanceof Tensor) return [result];
  if (Array.isArray(result)) return (result as readonly Result[]).flatMap(tensorsOf);
  if (typeof result === 'object') return Object.values(result as Record<string, Result>).flatMap(tensorsOf);
  return [];
}
