import { describe, expect, test } from 'vitest';
import { isFloat, type DType } from '../../src/dtype.ts';
import { evaluate } from '../../src/compiler/compile.ts';
import { cat, NnError, stack, Tensor, tensor, where, type Operand, type Scalar } from '../../src/index.ts';
import { goldenFile } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

// Dtypes and elements of results beside torch's, of every two dtypes, as written by `test/golden/promotion.py`.

type Outcome = readonly [dtype: DType, elements: readonly (number | string)[]] | 'error';
type Row = Readonly<Record<string, Outcome>>;

interface Golden {
  /** The elements of the left and the right operand. */
  readonly elements: Readonly<Record<DType, readonly [readonly Scalar[], readonly Scalar[]]>>;
  readonly binary: Readonly<Record<string, Readonly<Record<string, Row>>>>;
  readonly unary: Readonly<Record<string, Row>>;
}

const golden = goldenFile('promotion') as Golden;
const condition = tensor([true, false, false, true]);

/** Operations of promotion.py whose spelling is not that of a method. */
const others: Readonly<Partial<Record<string, (x: Tensor, y: Operand) => Tensor>>> = {
  where: (x, y) => where(condition, x, y),
  'where, exchanged': (x, y) => where(condition, y, x),
  cat: (x, y) => cat([x, y as Tensor]),
  stack: (x, y) => stack([x, y as Tensor]),
};

const isNotBool = (operandName: string) => !operandName.startsWith('bool');
const isNotFloat = (operandName: string) => /^(int64|bool)/.test(operandName);

/** Operands that torch accepts and ringrun rejects, or the other way round. */
const differences: Readonly<Partial<Record<string, (left: string, right: string) => boolean>>> = {
  // Programs have no bits of integers.
  ...Object.fromEntries(
    ['bitwiseAnd', 'bitwiseOr', 'bitwiseXor'].map((name) => [
      name,
      (left: string, right: string) => isNotBool(left) || isNotBool(right),
    ]),
  ),
  // torch rejects these, although they have a result.
  pow: (left, right) => left.startsWith('bool') && right.startsWith('bool'),
  clamp: (left, right) => left.startsWith('bool') && right === 'true',
  logaddexp: (left, right) => isNotFloat(left) && isNotFloat(right),
  isclose: (left, right) => left.replace(/\[.*/, '') !== right.replace(/\[.*/, ''),
  argmax: (left) => left.startsWith('bool'),
  median: (left) => left.startsWith('bool'),
  frac: (left) => left.startsWith('int64'),
};

describe.each(Object.entries(golden.binary))('%s', (name, rows) => {
  test('has the dtypes and elements of torch for every two operands', async () => {
    const calls = Object.entries(rows).flatMap(([left, row]) =>
      Object.entries(row).map(([right, outcome]) => ({
        label: `${name} of ${left} and ${right}`,
        differs: differences[name]?.(left, right) ?? false,
        outcome,
        result: () => apply(name, operand(left, 0) as Tensor, operand(right, 1)),
      })),
    );
    await expectOutcomes(calls);
  });
});

test.each(Object.entries(golden.unary))('%s has the dtypes and elements of torch', async (name, row) => {
  const calls = Object.entries(row).map(([operandName, outcome]) => ({
    label: `${name} of ${operandName}`,
    differs: differences[name]?.(operandName, '') ?? false,
    outcome,
    result: () => applyToOne(name, operand(operandName, 0) as Tensor),
  }));
  await expectOutcomes(calls);
});

interface Call {
  readonly label: string;
  readonly differs: boolean;
  readonly outcome: Outcome;
  readonly result: () => Tensor;
}

async function expectOutcomes(calls: readonly Call[]): Promise<void> {
  const wrong: string[] = [];
  const built: { call: Call; result: Tensor }[] = [];
  for (const call of calls) {
    if (call.differs) continue;
    const result = resultOf(call.result);
    const expected = call.outcome === 'error' ? 'error' : call.outcome[0];
    const got = result instanceof Tensor ? result.dtype : result;
    if (got !== expected) wrong.push(`${call.label}: expected ${expected}, got ${got}`);
    else if (result instanceof Tensor) built.push({ call, result });
  }
  const arrays = await evaluate(built.map(({ result }) => result.value));
  built.forEach(({ call, result }, place) => {
    const expected = call.outcome[1] as readonly (number | string)[];
    const got = Array.from(arrays[place] as ArrayLike<Scalar>, Number);
    const tolerance = result.dtype === 'bfloat16' ? 2 ** -7 : isFloat(result) ? 2e-6 : 0;
    if (!areClose(got, expected.map(parsed), tolerance)) {
      wrong.push(`${call.label}: expected ${expected.join()}, got ${got.join()}`);
    }
  });
  expect(wrong).toEqual([]);
}

/** "error" for the errors that a user should see. */
function resultOf(compute: () => Tensor): Tensor | string {
  try {
    return compute();
  } catch (error) {
    return error instanceof NnError ? 'error' : String(error);
  }
}

function operand(name: string, side: 0 | 1): Tensor | number | boolean {
  if (name === 'true') return true;
  const match = /^([a-z0-9]+)\[(\d*)\]$/.exec(name);
  if (match === null) return Number(name);
  const [, dtype, length] = match;
  const all = golden.elements[dtype as DType][side];
  const elements = length === '' ? all.slice(0, 1) : all;
  return tensor(elements, length === '' ? [] : [Number(length)]).to(dtype as DType);
}

function apply(name: string, x: Tensor, y: Operand): Tensor {
  const own = others[name];
  return own ? own(x, y) : methodOf(x, name).call(x, y);
}

function applyToOne(name: string, x: Tensor): Tensor {
  const spelling = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const args =
    name === 'logsumexp' ? [[0]] : ['cumsum', 'softmax', 'sort', 'argsort'].includes(name) ? [0] : [];
  const result = methodOf(x, spelling).apply(x, args) as unknown;
  return result instanceof Tensor ? result : (result as { values: Tensor }).values;
}

function methodOf(x: Tensor, name: string): (...args: unknown[]) => Tensor {
  return Reflect.get(x, name) as (...args: unknown[]) => Tensor;
}

function parsed(element: number | string): number {
  return element === 'inf' ? Infinity : element === '-inf' ? -Infinity : Number(element);
}

function areClose(got: readonly number[], expected: readonly number[], tolerance: number): boolean {
  if (got.length !== expected.length) return false;
  return got.every((one, place) => {
    const other = expected[place];
    return Object.is(one, other) || one === other || Math.abs(one - other) <= tolerance * Math.abs(other);
  });
}
