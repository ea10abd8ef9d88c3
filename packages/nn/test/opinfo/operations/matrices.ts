import { cdist, einsum, type Tensor } from '../../../src/index.ts';
import type { Given } from '../given.ts';
import { listOp, op, type Operation } from '../operation.ts';

const product = (name: 'mm' | 'bmm' | 'mv' | 'dot' | 'outer' | 'matmul'): Operation =>
  op('other', (x, given) => {
    given.ignore('out_dtype');
    return x[name](given.tensor('other'));
  });

const scalesOf = (given: Given, x: Tensor) => ({
  beta: given.operand('beta', x) as number,
  alpha: given.operand('alpha', x) as number,
});

/** Matrices and vectors. */
export const matrices: Readonly<Record<string, Operation>> = {
  mm: product('mm'),
  bmm: product('bmm'),
  mv: product('mv'),
  dot: product('dot'),
  outer: product('outer'),
  matmul: product('matmul'),
  __rmatmul__: op('other', (x, given) => given.tensor('other').matmul(x)),
  addmm: op('a b', (x, given) => x.addmm(given.tensor('a'), given.tensor('b'), scalesOf(given, x))),
  baddbmm: op('a b', (x, given) => x.baddbmm(given.tensor('a'), given.tensor('b'), scalesOf(given, x))),
  trace: op('', (x) => x.trace()),
  // op_db's samples begin with the operands.
  einsum: listOp('equation', (tensors, given) => einsum(given.string('equation')!, ...tensors)),
  cdist: op('other p compute_mode', (x, given) => {
    given.ignore('compute_mode');
    return cdist(x, given.tensor('other'), given.number('p'));
  }),
};
