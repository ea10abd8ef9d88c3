import { arrayFrom, type DType } from '../../dtype.ts';
import { isNode, type Node } from '../../graph/node.ts';
import type { OpName } from '../../graph/operators.ts';
import { bfloat16Source, registerTypes } from './element-types.ts';

/** The expression of an element of a node's first output. */
type Expression<Op extends OpName> = (operands: readonly string[], node: Node<Op>) => string;

/** Functions that the expressions use, before the kernels of a program. */
export const elementwisePrelude = `${bfloat16Source}
__device__ inline float roundedToBfloat16(float x) { return bfloat16(x); }
__device__ inline float greaterOf(float a, float b) { return a != a || a > b ? a : b; }
__device__ inline long long greaterOf(long long a, long long b) { return a > b ? a : b; }
__device__ inline unsigned char greaterOf(unsigned char a, unsigned char b) { return a > b ? a : b; }
__device__ inline float lesserOf(float a, float b) { return a != a || a < b ? a : b; }
__device__ inline long long lesserOf(long long a, long long b) { return a < b ? a : b; }
__device__ inline unsigned char lesserOf(unsigned char a, unsigned char b) { return a < b ? a : b; }
__device__ inline float absoluteOf(float x) { return fabsf(x); }
__device__ inline long long absoluteOf(long long x) { return x < 0 ? -x : x; }
__device__ inline float sigmoidOf(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ inline float softplusOf(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }
__device__ inline float geluOf(float x) { return x * 0.5f * erfcf(x * -0.70710678f); }
__device__ inline float geluSlope(float x) {
  return 0.5f * erfcf(x * -0.70710678f) + x * 0.39894228f * expf(-0.5f * x * x);
}
// (1 + tanh u) / 2 is sigmoid(2u), which keeps its precision if the tanh is near -1.
__device__ inline float tanhGeluShare(float x) {
  return sigmoidOf(1.5957691f * (x + 0.044715f * x * x * x));
}
__device__ inline float tanhGeluOf(float x) { return x * tanhGeluShare(x); }
__device__ inline float tanhGeluSlope(float x) {
  // 1 - share would cancel.
  float share = tanhGeluShare(x), rest = tanhGeluShare(-x);
  return share + x * share * rest * 1.5957691f * (1.0f + 0.134145f * x * x);
}
`;

const binary =
  (operator: string): Expression<OpName> =>
  ([a, b]) =>
    `${a} ${operator} ${b}`;

const call =
  (name: string): Expression<OpName> =>
  (operands) =>
    `${name}(${operands.join(', ')})`;

const expressions: { readonly [Op in OpName]?: Expression<Op> } = {
  Add: binary('+'),
  Sub: binary('-'),
  Mul: binary('*'),
  Div: binary('/'),
  IntegerDiv: binary('/'),
  Mod: call('fmodf'),
  Max: call('greaterOf'),
  Min: call('lesserOf'),
  Greater: binary('>'),
  GreaterOrEqual: binary('>='),
  Equal: binary('=='),
  Or: binary('|'),
  And: binary('&'),
  Not: ([a]) => `!${a}`,
  IsNaN: ([a]) => `${a} != ${a}`,
  Where: ([condition, a, b]) => `${condition} ? ${a} : ${b}`,
  Neg: ([a]) => `-${a}`,
  Exp: call('expf'),
  Log: call('logf'),
  Sqrt: call('sqrtf'),
  // NaN passes.
  Relu: ([a]) => `${a} <= 0.0f ? 0.0f : ${a}`,
  LeakyRelu: ([a], { attributes }) => `${a} > 0.0f ? ${a} : ${a} * ${literalOf(attributes.alpha, 'float32')}`,
  Pow: ([a], { attributes }) => `powf(${a}, ${literalOf(attributes.exponent, 'float32')})`,
  Power: call('powf'),
  Abs: call('absoluteOf'),
  // 0 for NaN.
  Sign: ([a]) => `(${a} > 0) - (${a} < 0)`,
  Floor: call('floorf'),
  Ceil: call('ceilf'),
  Round: call('rintf'),
  Sin: call('sinf'),
  Cos: call('cosf'),
  Tan: call('tanf'),
  Asin: call('asinf'),
  Acos: call('acosf'),
  Atan: call('atanf'),
  Sinh: call('sinhf'),
  Cosh: call('coshf'),
  Asinh: call('asinhf'),
  Acosh: call('acoshf'),
  Atanh: call('atanhf'),
  Erf: call('erff'),
  Tanh: call('tanhf'),
  Sigmoid: call('sigmoidOf'),
  Softplus: call('softplusOf'),
  Gelu: ([x], { attributes }) => (attributes.approximate === 'tanh' ? `tanhGeluOf(${x})` : `geluOf(${x})`),
  GeluGradient: ([d, x], { attributes }) =>
    attributes.approximate === 'tanh' ? `${d} * tanhGeluSlope(${x})` : `${d} * geluSlope(${x})`,
  Cast: ([a], node) => castOf(a, node),
  // An input of fewer elements is repeated.
  Expand: ([a]) => a,
};

/** True if one kernel may compute the node together with others. */
export function isElementwise({ op }: Pick<Node, 'op'>): boolean {
  return expressions[op] !== undefined;
}

/** The expression of an element of each output that the node has. Results of bfloat16 are rounded. */
export function expressionsOf(node: Node, operands: readonly string[]): readonly string[] {
  const expression = expressions[node.op] as Expression<OpName>;
  const value = expression(operands, node);
  const rounded = node.outputs[0].dtype === 'bfloat16' ? `roundedToBfloat16(${value})` : value;
  return isNode(node, 'Relu') ? [rounded, `${operands[0]} <= 0.0f`] : [rounded];
}

function castOf(a: string, { inputs: [x], outputs: [y] }: Node): string {
  return y.dtype === 'bool' && x.dtype !== 'bool' ? `${a} != 0` : `(${registerTypes[y.dtype]})${a}`;
}

/** A number in CUDA C++, with the same bits. */
export function literalOf(value: number | bigint, dtype: DType): string {
  if (dtype === 'int64') {
    const integer = BigInt(value);
    return integer === -(2n ** 63n) ? '(-9223372036854775807LL - 1)' : `${integer}LL`;
  }
  if (dtype === 'bool') return String(Number(value));
  const [bits] = new Uint32Array((arrayFrom(dtype, [value]) as Float32Array<ArrayBuffer>).buffer);
  return `__uint_as_float(0x${bits.toString(16)}u)`;
}
