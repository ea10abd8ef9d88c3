import type { Node, Value } from '../../graph/node.ts';
import type { OpName } from '../../graph/operators.ts';
import { copies } from './copies.ts';
import { isElementwise } from './elementwise-operators.ts';
import { reductions } from './reductions.ts';
import { isView } from './views.ts';

/**
 * The operands of a node that its kernels take in bfloat16, if all of them are; another operand is not bfloat16. Other nodes
 * compute in float32 (rewrites.ts).
 */
interface Operands {
  /** Positions of inputs. */
  readonly inputs: readonly number[];
  /** Positions of outputs. Default: the first. */
  readonly outputs?: readonly number[];
}

const first: Operands = { inputs: [0] };

const operandsOf: { readonly [Op in OpName]?: Operands } = {
  ...{ Softmax: first, SafeSoftmax: first, LogSoftmax: first },
  ...{ SoftmaxCrossEntropy: { inputs: [0], outputs: [] }, SoftmaxCrossEntropyGradient: { inputs: [1] } },
  ...{ MaxPool: first, AveragePool: first, MaxUnpool: first, MaxPoolGradient: first },
  ...{ Dropout: first, LayerNormalize: first, LayerNormalizeGradient: { inputs: [0, 1] } },
  ...{ Normalize: first, BatchNormalize: first },
  ...{ Gather: first, AddRows: { inputs: [1] } },
  ...{ GatherElements: first, ScatterElements: { inputs: [1] }, Scatter: { inputs: [0, 2] } },
  Attention: { inputs: [0, 1, 2] },
  // The result has statistics behind it.
  AttentionGradient: { inputs: [0, 1, 3, 4, 5], outputs: [0, 1, 2] },
  ...{ Conv: { inputs: [0, 1] }, ConvTranspose: { inputs: [0, 1] }, ConvWeightGradient: { inputs: [0, 1] } },
};

/** True if there are kernels for a node that reads or writes bfloat16. */
export function takesBfloat16(node: Node): boolean {
  const { op, inputs, outputs } = node;
  if (isView(node) || isElementwise(node) || op === 'Constant' || op in copies) return true;
  const [x, , bias] = inputs;
  const [y] = outputs;
  // Sums are float32, so that a result may be either. A bias has the type of the result.
  if (op in reductions) return isNarrow(x) || isNarrow(y);
  if (op === 'MatMul' || op === 'Gemm') {
    return inputs.slice(0, 2).every(isNarrow) && (inputs.length < 3 || bias.dtype === y.dtype);
  }
  const operands = operandsOf[op];
  if (operands === undefined) return false;
  const narrow = new Set<Value>([
    ...operands.inputs.map((position) => inputs[position]),
    ...(operands.outputs ?? [0]).flatMap((position) => outputs.slice(position, position + 1)),
  ]);
  const biasOfConvolution = op === 'Conv' || op === 'ConvTranspose' ? bias : undefined;
  const others = [...inputs, ...outputs].filter((value) => !narrow.has(value) && value !== biasOfConvolution);
  return [...narrow].every(isNarrow) && !others.some(isNarrow);
}

function isNarrow({ dtype }: Value): boolean {
  return dtype === 'bfloat16';
}
