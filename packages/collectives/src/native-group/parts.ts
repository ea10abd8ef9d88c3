import { InvalidArgumentError } from '@ringrun/core';
import type { BufferByRank, CollectiveBuffer, DType } from '@ringrun/core';
import type { Place } from './arguments.ts';
import { checkedDTypeOf, describeValue } from './arguments.ts';

/*
 * The functions below convert an argument with a part for each rank to a new list of those parts, in rank order, or
 * throw an `InvalidArgumentError` with the argument's name.
 */

/** An argument and its name for error messages. */
export interface Named<Value> {
  name: string;
  value: Value;
}

export function isList(value: BufferByRank): value is readonly CollectiveBuffer[] {
  return Array.isArray(value);
}

/** The parts of an operation whose other argument, `own`, is as long as this rank's part. */
export function partsBeside(
  parts: Named<BufferByRank>,
  own: Named<CollectiveBuffer>,
  place: Place,
): CollectiveBuffer[] {
  const { name, value } = parts;
  const dtype = checkedDTypeOf(own.value, own.name);
  if (!isList(value)) return partsAsLongAs(own, { name, value }, place);
  const list = listOfParts({ name, value }, { dtype, from: own.name }, place);
  const { length } = list[place.rank];
  if (length === own.value.length) return list;
  throw new InvalidArgumentError(
    `${name}[${place.rank}] is this rank's own part and has ${elements(length)}, expected ${own.value.length}, the length of ${own.name}`,
  );
}

function partsAsLongAs(
  own: Named<CollectiveBuffer>,
  whole: Named<CollectiveBuffer>,
  { size }: Place,
): CollectiveBuffer[] {
  const { length } = own.value;
  checkDType(whole, { dtype: checkedDTypeOf(own.value, own.name), from: own.name });
  if (whole.value.length === size * length) {
    return cut(
      whole.value,
      Array.from({ length: size }, () => length),
    );
  }
  throw new InvalidArgumentError(
    `${whole.name} has ${elements(whole.value.length)}, expected ${size * length}: ${counted(size, 'rank')}, ${elements(length)} of ${own.name} for each. ` +
      'If ranks have different lengths, pass a list with one array for each rank',
  );
}

/** The dtype of an argument's parts, from the first part. */
export function dtypeOfParts({ name, value }: Named<BufferByRank>, place: Place): DType {
  if (!isList(value)) return checkedDTypeOf(value, name);
  checkListLength({ name, value }, place);
  return checkedDTypeOf(value[0], `${name}[0]`);
}

/** The arrays of a list, checked. */
export function listOfParts(
  { name, value }: Named<readonly CollectiveBuffer[]>,
  expected: { dtype: DType; from: string },
  place: Place,
): CollectiveBuffer[] {
  checkListLength({ name, value }, place);
  // The copy has no holes, which forEach would skip.
  const list = [...value];
  list.forEach((tensor, rank) => {
    checkDType({ name: `${name}[${rank}]`, value: tensor }, expected);
  });
  return list;
}

/** Any number of arrays of the same dtype. */
export function listOfOneDType({ name, value }: Named<readonly CollectiveBuffer[]>): CollectiveBuffer[] {
  if (!Array.isArray(value)) {
    throw new InvalidArgumentError(`${name} is ${describeValue(value)}, expected a list of arrays`);
  }
  // The copy has undefined in place of holes, so that they are checked too.
  const list = [...(value as readonly CollectiveBuffer[])];
  list.forEach((tensor, i) => {
    const first = checkedDTypeOf(list[0], `${name}[0]`);
    checkDType({ name: `${name}[${i}]`, value: tensor }, { dtype: first, from: `${name}[0]` });
  });
  return list;
}

function checkListLength({ name, value }: Named<readonly CollectiveBuffer[]>, { size }: Place): void {
  if (value.length === size) return;
  throw new InvalidArgumentError(
    `${name} is a list of ${value.length}, expected ${size}: one array for each rank of the group`,
  );
}

/** Divides one array into parts of the given sizes. Default: equal parts. */
export function splitParts(
  { name, value }: Named<CollectiveBuffer>,
  sizes: Named<readonly number[] | undefined>,
  place: Place,
): CollectiveBuffer[] {
  if (sizes.value === undefined) return equalParts({ name, value }, sizes.name, place);
  const given = checkedSplitSizes({ name: sizes.name, value: sizes.value }, place);
  const sum = given.reduce((total, one) => total + one, 0);
  if (sum === value.length) return cut(value, given);
  throw new InvalidArgumentError(
    `${sizes.name} is ${given.join(' + ')} = ${elements(sum)}, expected ${value.length}, the length of ${name}`,
  );
}

function equalParts(
  { name, value }: Named<CollectiveBuffer>,
  sizesName: string,
  { size }: Place,
): CollectiveBuffer[] {
  if (value.length % size !== 0) {
    throw new InvalidArgumentError(
      `${name} has ${elements(value.length)}, expected a multiple of ${size}, for equal parts. Use ${sizesName} for different parts`,
    );
  }
  return cut(
    value,
    Array.from({ length: size }, () => value.length / size),
  );
}

function checkedSplitSizes({ name, value }: Named<readonly number[]>, { size }: Place): readonly number[] {
  const list: readonly unknown[] | undefined = Array.isArray(value) ? value : undefined;
  if (list?.length === size && list.every(isCount)) return value;
  const given = list ? `[${list.map(describeValue).join(', ')}]` : describeValue(value);
  throw new InvalidArgumentError(
    `${name} is ${given}, expected ${size} numbers of elements, one for each rank: integers from 0`,
  );
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function checkDType(tensor: Named<CollectiveBuffer>, expected: { dtype: DType; from: string }): void {
  const dtype = checkedDTypeOf(tensor.value, tensor.name);
  if (dtype === expected.dtype) return;
  throw new InvalidArgumentError(
    `${tensor.name} has dtype ${dtype}, expected ${expected.dtype}, the dtype of ${expected.from}`,
  );
}

function cut(whole: CollectiveBuffer, lengths: readonly number[]): CollectiveBuffer[] {
  let end = 0;
  return lengths.map((length) => {
    end += length;
    return whole.subarray(end - length, end);
  });
}

function elements(count: number): string {
  return counted(count, 'element');
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
