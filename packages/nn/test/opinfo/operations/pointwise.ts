import type { Tensor } from '../../../src/index.ts';
import { F, where } from '../../../src/index.ts';
import { NoCounterpart, type Given } from '../given.ts';
import { op, type Operation } from '../operation.ts';

type Method =
  'abs' | 'acos' | 'acosh' | 'asin' | 'asinh' | 'atan' | 'atanh' | 'ceil' | 'cos' | 'cosh' | 'erf';
type More = 'exp' | 'exp2' | 'expm1' | 'floor' | 'frac' | 'isfinite' | 'isinf' | 'isnan' | 'log' | 'log10';
type Rest = 'log1p' | 'log2' | 'logicalNot' | 'neg' | 'reciprocal' | 'rsqrt' | 'sigmoid' | 'sign' | 'sin';
type Last = 'sinh' | 'sqrt' | 'square' | 'tan' | 'tanh' | 'trunc';

const unary = (name: Method | More | Rest | Last): Operation => op('', (x) => x[name]());

type Binary = 'add' | 'sub' | 'mul' | 'div';
type Comparison = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge' | 'remainder' | 'fmod' | 'floorDivide';

const binary = (name: Binary | Comparison): Operation =>
  op('other', (x, given) => x[name](given.operand('other', x)));

/** x + alpha·other */
const scaled = (name: 'add' | 'sub'): Operation =>
  op('other', (x, given) => {
    const other = given.operand('other', x);
    const alpha = given.operand('alpha', x) as number | undefined;
    if (alpha === undefined) return x[name](other);
    return x[name](typeof other === 'number' ? other * alpha : other.mul(alpha));
  });

const logical = (name: 'logicalAnd' | 'logicalOr' | 'logicalXor'): Operation =>
  op('other', (x, given) => x[name](given.tensor('other')));

function divided(x: Tensor, given: Given): Tensor {
  const other = given.operand('other', x);
  const mode = given.string('rounding_mode');
  if (mode === undefined) return x.div(other);
  if (mode === 'floor') return x.floorDivide(other);
  const isFloat = x.dtype === 'float32' || (typeof other === 'object' && other.dtype === 'float32');
  if (!isFloat) throw new NoCounterpart("`rounding_mode='trunc'` of integers");
  return x.div(other).trunc();
}

/** Functions of each element. */
export const pointwise: Readonly<Record<string, Operation>> = {
  abs: unary('abs'),
  acos: unary('acos'),
  acosh: unary('acosh'),
  asin: unary('asin'),
  asinh: unary('asinh'),
  atan: unary('atan'),
  atanh: unary('atanh'),
  ceil: unary('ceil'),
  cos: unary('cos'),
  cosh: unary('cosh'),
  erf: unary('erf'),
  exp: unary('exp'),
  exp2: unary('exp2'),
  expm1: unary('expm1'),
  floor: unary('floor'),
  frac: unary('frac'),
  isfinite: unary('isfinite'),
  isinf: unary('isinf'),
  isnan: unary('isnan'),
  log: unary('log'),
  log10: unary('log10'),
  log1p: unary('log1p'),
  log2: unary('log2'),
  logical_not: unary('logicalNot'),
  neg: unary('neg'),
  reciprocal: unary('reciprocal'),
  rsqrt: unary('rsqrt'),
  sigmoid: unary('sigmoid'),
  sign: unary('sign'),
  sin: unary('sin'),
  sinh: unary('sinh'),
  sqrt: unary('sqrt'),
  square: unary('square'),
  tan: unary('tan'),
  tanh: unary('tanh'),
  trunc: unary('trunc'),
  round: op('', (x, given) => {
    if (given.number('decimals') ?? 0) throw new NoCounterpart('`decimals`');
    return x.round();
  }),
  add: scaled('add'),
  sub: scaled('sub'),
  mul: binary('mul'),
  div: op('other', divided),
  true_divide: binary('div'),
  // ringrun's also take numbers.
  maximum: op('other', (x, given) => x.maximum(given.tensor('other'))),
  minimum: op('other', (x, given) => x.minimum(given.tensor('other'))),
  eq: binary('eq'),
  ne: binary('ne'),
  lt: binary('lt'),
  le: binary('le'),
  gt: binary('gt'),
  ge: binary('ge'),
  remainder: binary('remainder'),
  fmod: binary('fmod'),
  floor_divide: binary('floorDivide'),
  logical_and: logical('logicalAnd'),
  logical_or: logical('logicalOr'),
  logical_xor: logical('logicalXor'),
  isclose: op('other rtol atol equal_nan', (x, given) => {
    if (given.flag('equal_nan')) throw new NoCounterpart('`equal_nan`');
    return x.isclose(given.tensor('other'), given.number('rtol'), given.number('atol'));
  }),
  pow: op('exponent', (x, given) => {
    const exponent = given.operand('exponent', x);
    if (typeof exponent !== 'number') throw new NoCounterpart('an exponent that is a tensor');
    return x.pow(exponent);
  }),
  logit: op('eps', (x, given) => x.logit(given.number('eps'))),
  logaddexp: op('other', (x, given) => x.logaddexp(given.tensor('other'))),
  xlogy: op('other', (x, given) => x.xlogy(given.tensor('other'))),
  nan_to_num: op('nan posinf neginf', (x, given) =>
    x.nanToNum(given.number('nan'), given.number('posinf'), given.number('neginf')),
  ),
  clamp: op('min max', (x, given) =>
    x.clamp(
      given.has('min') ? given.operand('min', x) : null,
      given.has('max') ? given.operand('max', x) : null,
    ),
  ),
  lerp: op('end weight', (x, given) => x.lerp(given.tensor('end'), given.operand('weight'))),
  masked_fill: op('mask value', (x, given) => {
    const value = given.operand('value', x);
    if (typeof value !== 'number') throw new NoCounterpart('a value that is a tensor');
    return x.maskedFill(given.tensor('mask'), value);
  }),
  // torch's sample is (input, condition, other) for x.where.
  where: op('condition other', (x, given) => {
    return where(given.tensor('condition'), x, given.operand('other', x));
  }),
  clone: op('', (x, given) => {
    given.ignore('memory_format');
    return x;
  }),
  'nn.functional.relu': op('', (x) => F.relu(x)),
};
