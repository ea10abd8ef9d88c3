import { einsum } from '../../../combine.ts';
import { gemm } from '../../../ops/linear-algebra.ts';
import { Tensor } from '../../../tensor.ts';
import type { OperatorRules } from '../call.ts';

/** Products of matrices. */
export const matrixRules: OperatorRules = {
  MatMul: (call) => call.tensor(0).matmul(call.tensor(1)),
  Einsum: (call) => einsum(call.string('equation', ''), ...call.tensors()),
  Gemm: (call) => {
    const [a, b, c] = [call.tensor(0), call.tensor(1), call.optional(2)];
    const transposition = { transA: call.int('transA', 0) === 1, transB: call.int('transB', 0) === 1 };
    const [alpha, beta] = [call.float('alpha', 1), call.float('beta', 1)];
    if (alpha === 1 && beta === 1 && c?.shape.length === 1) {
      return new Tensor(gemm(a.value, b.value, c.value, transposition));
    }
    const product = new Tensor(gemm(a.value, b.value, undefined, transposition));
    const scaled = alpha === 1 ? product : product.mul(alpha);
    if (c === undefined || beta === 0) return scaled;
    return scaled.add(beta === 1 ? c : c.mul(beta));
  },
};
