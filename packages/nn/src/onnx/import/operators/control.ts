import type { Scalar } from '../../../dtype.ts';
import * as F from '../../../functional/index.ts';
import type { Tensor } from '../../../tensor/tensor.ts';
import { asTensor, constantArray, type ConstantArray } from '../constant-array.ts';
import {
  dtypeOf,
  elementTypeOfCode,
  isInteger,
  nameOfCode,
  rounded,
  type ElementType,
} from '../element-type.ts';
import { tabulate } from '../folding.ts';
import {
  boolean,
  every,
  float,
  floating,
  floats,
  input,
  int,
  integral,
  ints,
  known,
  numeric,
  oneOf,
  operator,
  optional,
  optionalFloat,
  optionalInt,
  refused,
  requiredGraph,
  requiredInt,
  since,
  tensorContent,
  type ContentsOf,
  type NodeFacts,
  type OperatorVersions,
} from '../specification.ts';

const constantAttributes = {
  value: tensorContent,
  sparse_value: refused('sparseTensor'),
  value_float: since(12, optionalFloat),
  value_floats: since(12, floats),
  value_int: since(12, optionalInt),
  value_ints: since(12, ints),
  value_string: since(12, refused('string')),
  value_strings: since(12, refused('strings')),
};

const castAttributes = {
  to: requiredInt,
  // Both concern 8-bit floats, which ringrun does not support.
  saturate: since(19, int(1)),
  round_mode: since(24, oneOf('up', 'down', 'nearest')),
};

const shapeValue = { value: tensorContent };
const zero = constantArray('float32', [1], [0]);
const falseArray = constantArray('bool', [], [0]);

/** Constants, conversions, branches, and dropout. */
export const controlOperators = {
  Identity: operator({
    types: { T: every },
    inputs: [input('input')],
    attributes: {},
    fold: (_, [x]) => x,
    compute: (call) => call.operand(0),
  }),
  Constant: [
    ...operator({
      until: 10,
      types: {},
      inputs: [],
      outputs: ({ value }: { readonly value: ConstantArray | undefined }) => [value?.type],
      attributes: { value: { ...tensorContent, isRequired: true } },
      fold: (call) => call.attributes.value!,
      compute: (call) => call.attributes.value!,
    }),
    ...operator({
      since: 11,
      types: {},
      inputs: [],
      outputs: (attributes: ConstantAttributes) => [constantOf(attributes)?.type],
      attributes: constantAttributes,
      refuse: refuseConstant,
      fold: (call) => constantOf(call.attributes)!,
      compute: (call) => constantOf(call.attributes)!,
    }),
  ],
  ConstantOfShape: operator({
    since: 9,
    types: { T1: integral },
    inputs: [known(input('input', 'T1'))],
    outputs: ({ value }: ContentsOf<typeof shapeValue>) => [(value ?? zero).type],
    attributes: shapeValue,
    fold: (call) => {
      const { type, data } = call.attributes.value ?? zero;
      return tabulate(type, call.numbers(0)!, () => data[0]);
    },
    compute: (call) => {
      const { type, data } = call.attributes.value ?? zero;
      return asTensor(constantArray(type, [], [data[0]])).expand(...call.numbers(0)!);
    },
  }),
  Range: operator({
    since: 11,
    types: { T: numeric },
    inputs: [known(input('start')), known(input('limit')), known(input('delta'))],
    // Concerns sums of 16-bit floats.
    attributes: { stash_type: since(27, int(1)) },
    fold: (_, inputs) => {
      const [{ type }] = inputs;
      const [start, limit, delta] = inputs.map(({ data }) => data[0]);
      const count = Math.max(0, Math.ceil((Number(limit) - Number(start)) / Number(delta)));
      const element = (i: number): Scalar =>
        isInteger(type) ? BigInt(start) + BigInt(i) * BigInt(delta) : Number(start) + i * Number(delta);
      return constantArray(
        type,
        [count],
        Array.from({ length: count }, (_one, i) => rounded(type, element(i))),
      );
    },
  }),
  Cast: operator({
    types: { T: every },
    inputs: [input('input')],
    outputs: ({ to }: ContentsOf<typeof castAttributes>) => [elementTypeOfCode(to)],
    attributes: castAttributes,
    wraps: true,
    refuse: ({ attributes: { to } }) =>
      elementTypeOfCode(to) === undefined
        ? `expected the attribute to to be a float, an integer or bool, got ${nameOfCode(to)}`
        : undefined,
    fold: (call, [x]) => castArray(x, elementTypeOfCode(call.attributes.to)!),
    compute: (call) => call.tensor(0).to(dtypeOf(elementTypeOfCode(call.attributes.to)!)),
  }),
  If: operator({
    types: { B: boolean },
    inputs: [known(input('cond', 'B'))],
    outputs: ['...'],
    attributes: { then_branch: requiredGraph, else_branch: requiredGraph },
  }),
  Dropout: [
    ...operator({
      until: 11,
      types: { T: floating },
      inputs: [input('data')],
      outputs: ['T', 'bool'],
      attributes: { ratio: float(0.5) },
      refuse: ({ opset, isRead }) =>
        opset < 10 && isRead(1)
          ? 'expected a mask that is not read, got one that is read as floats'
          : undefined,
      compute: (call) => dropped(call.tensor(0), call.attributes.ratio, call.training, call.node.reads[1]),
    }),
    ...operator({
      since: 12,
      types: { T: floating, T1: floating, T2: boolean },
      inputs: [input('data'), known(optional('ratio', 'T1')), known(optional('training_mode', 'T2'))],
      outputs: ['T', 'bool'],
      attributes: { seed: optionalInt },
      refuse: refuseSeed,
      compute: (call) => dropped(call.tensor(0), call.number(1) ?? 0.5, call.training, call.node.reads[1]),
    }),
  ],
} as const satisfies Readonly<Record<string, OperatorVersions>>;

type ConstantAttributes = ContentsOf<typeof constantAttributes>;

function refuseConstant({ attributes }: NodeFacts<ConstantAttributes>): string | undefined {
  if (constantOf(attributes) === undefined) return 'expected an array or numbers as its value, got none';
  const { value_int, value_ints = [] } = attributes;
  const unsafe = [value_int ?? 0, ...value_ints].find((one) => !isExact(one));
  return unsafe === undefined ? undefined : `expected integers up to 2^53 in lists, got about ${unsafe}`;
}

/** The value of a Constant; undefined if it has none. */
function constantOf(attributes: ConstantAttributes): ConstantArray | undefined {
  const { value, value_float, value_floats, value_int, value_ints } = attributes;
  if (value) return value;
  if (value_floats) return constantArray('float32', [value_floats.length], value_floats);
  if (value_float !== undefined) return constantArray('float32', [], [value_float]);
  if (value_ints) return clampedIntegers(value_ints, [value_ints.length]);
  return value_int === undefined ? undefined : clampedIntegers([value_int], []);
}

/** protobuf reads the largest integer of 64 bits, as the end of a Slice, as 2^63. */
const largest = 2n ** 63n - 1n;

function clampedIntegers(values: readonly number[], shape: readonly number[]): ConstantArray {
  const data = values.map((value) => (value >= 2 ** 63 ? largest : BigInt(value)));
  return constantArray('int64', shape, data);
}

/** True if a number of a protobuf list is exactly the integer in the file. */
function isExact(value: number): boolean {
  return Number.isSafeInteger(value) || Math.abs(value) >= 2 ** 63;
}

function castArray({ shape, data }: ConstantArray, type: ElementType): ConstantArray {
  const toInteger = (element: Scalar) => {
    if (typeof element === 'bigint') return element;
    // The integer that processors return for NaN and numbers out of range.
    return Number.isFinite(element) ? BigInt(Math.trunc(element)) : -largest - 1n;
  };
  const convert = (element: Scalar) => rounded(type, isInteger(type) ? toInteger(element) : element);
  return constantArray(type, shape, Array.from(data, convert));
}

/** `train()` and `eval()` control dropout. A seed is rejected, because ringrun's generator would drop other elements. */
function refuseSeed({
  attributes,
  constant,
  isGiven,
}: NodeFacts<{ readonly seed: number | undefined }>): string | undefined {
  const mode = isGiven(2) ? constant(2) : falseArray;
  if (mode === undefined) return 'expected a constant as training_mode, got one that is computed';
  const ratio = isGiven(1) ? constant(1)?.data[0] : 0.5;
  if (attributes.seed === undefined || mode.data[0] === 0 || ratio === 0) return undefined;
  return `expected dropout in training without a seed, got seed = ${attributes.seed}, whose random numbers ringrun does not reproduce`;
}

function dropped(x: Tensor, ratio: number, isTraining: boolean, readsMask: boolean): readonly Tensor[] {
  const all = asTensor(constantArray('bool', [], [1])).expand(...x.shape);
  if (!isTraining || ratio === 0) return [x, all];
  if (!readsMask) return [F.dropout(x, ratio)];
  const factors = F.dropout(asTensor(constantArray('float32', [], [1])).expand(...x.shape), ratio);
  return [x.mul(factors), factors.gt(0)];
}
