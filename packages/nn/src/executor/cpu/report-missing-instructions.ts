import type { Value } from '../../graph/node.ts';
import type { OpName } from '../../graph/operators.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { bfloat16Instructions } from '../../ops/own/bfloat16-instructions.ts';

const products: ReadonlySet<OpName> = new Set<OpName>([
  'Attention',
  'Conv',
  'ConvTranspose',
  'Gemm',
  'MatMul',
  'MatrixProduct',
]);

let isReported = false;

/** Prints once if a graph multiplies bfloat16 on a processor that multiplies only float32. */
export function reportMissingInstructions(outputs: readonly Value[]): void {
  if (isReported || bfloat16Instructions() !== undefined) return;
  const isNarrow = ({ dtype }: Value) => dtype === 'bfloat16';
  if (!topologicalOrder(outputs).some(({ op, inputs }) => products.has(op) && inputs.some(isNarrow))) return;
  isReported = true;
  process.stderr.write(
    'ringrun: autocast: this processor has no bfloat16 instructions (AVX512_BF16 or AMX), so bfloat16 saves memory but no time. (printed once)\n',
  );
}
