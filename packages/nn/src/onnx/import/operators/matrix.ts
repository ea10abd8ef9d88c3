import { einsum } from '../../../tensor/combine.ts';
import { gemm } from '../../../ops/linear-algebra.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import {
  flag,
  float,
  floating,
  input,
  numeric,
  operator,
  optional,
  requiredString,
  variadic,
  type OperatorVersions,
} from '../specification.ts';
import { productOfIntegers } from './integers.ts';

/** Products of matrices. */
export const matrixOperators = {
  MatMul: operator({
    types: { T: numeric },
    inputs: [input('A'), input('B')],
    attributes: {},
    wraps: true,
    compute: (call) => {
      const [a, b] = [call.tensor(0), call.tensor(1)];
      return a.dtype === 'float32' ? a.matmul(b) : productOfIntegers(a, b);
    },
  }),
  Einsum: operator({
    since: 12,
    types: { T: floating },
    inputs: [variadic('Inputs')],
    attributes: { equation: requiredString },
    compute: (call) => einsum(call.attributes.equation, ...call.tensors()),
  }),
  Gemm: operator({
    types: { T: floating },
    inputs: [input('A'), input('B'), optional('C')],
    attributes: { alpha: float(1), beta: float(1), transA: flag(0), transB: flag(0) },
    compute: (call) => {
      const [a, b, c] = [call.tensor(0), call.tensor(1), call.optional(2)];
      const { alpha, beta, transA, transB } = call.attributes;
      const transposition = { transA: transA === 1, transB: transB === 1 };
      const columns = b.shape[transB === 1 ? 0 : 1];
      if (alpha === 1 && beta === 1 && c?.shape.length === 1 && c.shape[0] === columns) {
        return new Tensor(gemm(a.value, b.value, c.value, transposition));
      }
      const product = new Tensor(gemm(a.value, b.value, undefined, transposition));
      const scaled = alpha === 1 ? product : product.mul(alpha);
      if (c === undefined || beta === 0) return scaled;
      return scaled.add(beta === 1 ? c : c.mul(beta));
    },
  }),
} as const satisfies Readonly<Record<string, OperatorVersions>>;
