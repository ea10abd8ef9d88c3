import type { DType } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import type { OpName } from './operators.ts';

interface Operand {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** Numeric operators that onnxruntime does not implement for bool. Public functions convert their operands first. */
const ofNumbers: ReadonlySet<OpName> = new Set<OpName>([
  ...(['Add', 'Sub', 'Mul', 'Div', 'Neg', 'Abs', 'Sign', 'Mod', 'IntegerDiv', 'Max', 'Min'] as const),
  ...(['Greater', 'GreaterOrEqual', 'Where', 'CumSum', 'ArgMax', 'ArgMin', 'TopK'] as const),
  ...(['ReduceSum', 'ReduceMean', 'ReduceMax', 'MatMul', 'Gemm'] as const),
]);

/** Rejects an operand that onnxruntime would reject when the graph is compiled, far from the call. */
export function requireOperandDtypes(op: OpName, operands: readonly Operand[]): void {
  if (!ofNumbers.has(op)) return;
  // The first operand of Where is a condition.
  for (let place = op === 'Where' ? 1 : 0; place < operands.length; place += 1) {
    if (operands[place].dtype !== 'bool') continue;
    throw new ShapeError(
      `${op}: expected float32 or int64, got bool[${operands[place].shape.join()}]. Convert it by x.long() or x.float().`,
    );
  }
}
