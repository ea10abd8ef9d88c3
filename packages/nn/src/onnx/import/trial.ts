import { newArray } from '../../dtype.ts';
import { sizeOf } from '../../graph/node.ts';
import { ArgumentError } from '../../errors.ts';
import { noGrad } from '../../no-grad.ts';
import { input } from '../../ops/source.ts';
import { Tensor } from '../../tensor.ts';
import { UnsupportedNodeError } from './call.ts';
import type { OnnxInput } from './decode.ts';
import type { OnnxModule, OnnxOutput } from './onnx-module.ts';

/** Sizes that dynamic dimensions are tried with. */
const trialSizes = [2, 1, 32];

/**
 * Builds the graph of a model without computing it, to find what cannot be computed of its shapes. With dynamic dimensions,
 * only what cannot be computed at any of several sizes is an error.
 *
 * @throws ArgumentError with the error of `forward`
 */
export function requireComputable(module: OnnxModule<OnnxOutput>): void {
  const { inputs } = module;
  const isFixed = inputs.every(({ shape }) => shape?.every((size) => typeof size === 'number'));
  const failures: unknown[] = [];
  module.eval();
  try {
    for (const size of isFixed ? [1] : trialSizes) {
      const failure = failureOf(module, size);
      if (failure === undefined) return;
      failures.push(failure);
    }
  } finally {
    module.train();
  }
  const [first] = failures;
  const isCertain = isFixed || failures.every((failure) => failure instanceof UnsupportedNodeError);
  if (!isCertain || !(first instanceof Error)) return;
  throw new ArgumentError(first.message.replace(/^forward: /, 'importOnnx: '), { cause: first });
}

/** The error of `forward` with a size for all dynamic dimensions; undefined if there is none, or inputs without a type. */
function failureOf(module: OnnxModule<OnnxOutput>, size: number): unknown {
  const inputs = module.inputs.map((one) => placeholder(one, size));
  if (inputs.includes(undefined)) return undefined;
  try {
    noGrad(() => module.forward(...(inputs as Tensor[])));
    return undefined;
  } catch (error) {
    return error;
  }
}

function placeholder({ dtype, shape }: OnnxInput, dynamic: number): Tensor | undefined {
  if (dtype === undefined || shape === undefined) return undefined;
  const sizes = shape.map((size) => (typeof size === 'number' ? size : dynamic));
  return new Tensor(
    input(dtype, sizes, {
      // Read only by checks of elements.
      get data() {
        return newArray(dtype, sizeOf(sizes));
      },
    }),
  );
}
