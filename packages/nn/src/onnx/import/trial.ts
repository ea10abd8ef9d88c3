import { newArray } from '../../dtype.ts';
import { sizeOf } from '../../value-type.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { noGrad } from '../../tensor/no-grad.ts';
import { detach } from '../../ops/elementwise.ts';
import { input } from '../../ops/source.ts';
import { Tensor } from '../../tensor/tensor.ts';
import type { OnnxInput } from './decode.ts';
import type { OnnxModule, OnnxOutput } from './onnx-module.ts';

/** Sizes that dynamic dimensions are tried with. */
const trialSizes = [2, 1, 32, 0];

/**
 * Builds the graph of a model without computing it, to find shapes that it cannot compute. With dynamic dimensions,
 * only an error that occurs at several sizes, and thus does not depend on them, is an error of the model.
 *
 * @throws ArgumentError with the error of `forward`
 */
export function requireComputable(module: OnnxModule<OnnxOutput>): void {
  const { inputs } = module;
  const isFixed = inputs.every(({ shape }) => shape?.every((size) => typeof size === 'number'));
  const failures: Error[] = [];
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
  const [cause] = failures;
  if (failures.some(({ message }) => message !== cause.message)) return;
  throw new ArgumentError(`importOnnx: ${cause.message.replace(/^forward: /, '')}`, { cause });
}

/** The error of `forward` with a size for all dynamic dimensions; undefined if it succeeds or an input has no type. */
function failureOf(module: OnnxModule<OnnxOutput>, size: number): Error | undefined {
  const inputs = module.inputs.map((one) => placeholder(one, size));
  if (inputs.includes(undefined)) return undefined;
  try {
    noGrad(() => module.forward(...(inputs as Tensor[])));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function placeholder({ dtype, shape }: OnnxInput, dynamic: number): Tensor | undefined {
  if (dtype === undefined || shape === undefined) return undefined;
  const sizes = shape.map((size) => (typeof size === 'number' ? size : dynamic));
  const leaf = input(dtype, sizes, {
    get data() {
      return newArray(dtype, sizeOf(sizes));
    },
  });
  // Not a leaf, so that its elements are unknown: they are checked only when they are passed.
  return new Tensor(detach(leaf));
}
