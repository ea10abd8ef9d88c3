import { requireFunction } from '../checks/require-function.ts';
import { requireAtLeastZero } from '../checks/require-number.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, NnError } from '../errors/errors.ts';
import { Tensor, tensor } from '../tensor/tensor.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { grad, listOf, type Tensors } from './grad.ts';

/** Options of {@link gradcheck}. */
export interface GradCheckOptions {
  /** Half of the distance of the two points of a difference quotient. Default: 0.01, because elements are float32. */
  eps?: number;
  /** Largest absolute difference that is allowed. Default: 1e-3. */
  atol?: number;
  /** Largest difference in proportion to the difference quotient. Default: 1e-2. */
  rtol?: number;
  /** If false, returns false instead of throwing an error. Default: true. */
  raiseException?: boolean;
}

const optionNames: OptionNames<GradCheckOptions> = {
  eps: true,
  atol: true,
  rtol: true,
  raiseException: true,
};

/** A function of as many tensors as it has inputs, for {@link gradcheck}. */
export type CheckedFunction = (...inputs: Tensor[]) => Tensors;

/**
 * Compares the gradients of a function with difference quotients (torch.autograd.gradcheck), for each element of its outputs and of
 * those inputs that have `requiresGrad`. torch checks in float64; in float32 quotients have 3 to 4 digits, so keep elements near 1
 * and away from kinks.
 *
 * @returns true; or, with `raiseException: false`, whether all gradients agree
 * @throws NnError (ERR_BACKWARD) that names the element whose gradient differs; ArgumentError if no input has `requiresGrad`
 */
export async function gradcheck(
  func: CheckedFunction,
  inputs: Tensors,
  options: GradCheckOptions = {},
): Promise<boolean> {
  return await checked('gradcheck', func, inputs, options);
}

/**
 * `gradcheck` of the gradients: compares second derivatives with difference quotients (torch.autograd.gradgradcheck).
 *
 * @param gradOutputs gradients of the outputs. Default: fixed numbers from −1 to 1.
 */
export async function gradgradcheck(
  func: CheckedFunction,
  inputs: Tensors,
  gradOutputs?: Tensors,
  options: GradCheckOptions = {},
): Promise<boolean> {
  requireFunction('autograd.gradgradcheck', func);
  const list = listOf('inputs', inputs);
  const weights = gradOutputs
    ? listOf('gradOutputs', gradOutputs)
    : differentiable(func(...list)).map(weightsOf);
  const gradients = (...all: Tensor[]) => {
    const [own, seeds] = [all.slice(0, list.length), all.slice(list.length)];
    const outputs = differentiable(func(...own));
    const trained = own.filter((_, index) => list[index].requiresGrad);
    return grad(outputs, trained, { gradOutputs: seeds, createGraph: true, materializeGrads: true });
  };
  return await checked('gradgradcheck', gradients, [...list, ...weights], options);
}

async function checked(
  name: string,
  func: CheckedFunction,
  inputs: Tensors,
  options: GradCheckOptions,
): Promise<boolean> {
  requireFunction(`autograd.${name}`, func);
  requireOptions(`autograd.${name}`, options, optionNames);
  const { eps = 0.01, atol = 1e-3, rtol = 1e-2, raiseException = true } = options;
  requireAtLeastZero(`autograd.${name}`, { eps, atol, rtol });
  const list = listOf('inputs', inputs);
  const arrays = await Promise.all(list.map(async (input) => await input.array()));
  const trained = list.flatMap((input, index) => (input.requiresGrad ? [index] : []));
  if (trained.length === 0) {
    throw new ArgumentError(
      `autograd.${name}: expected at least one input with requiresGrad. Write x.requiresGrad_().`,
    );
  }
  const leaves = (changed?: { input: number; elements: Float32Array }) =>
    list.map((input, index) => {
      const elements = changed?.input === index ? changed.elements : arrays[index].slice();
      const leaf = tensor(elements, input.shape);
      return trained.includes(index) ? leaf.requiresGrad_() : leaf;
    });
  const expected = new Map<number, Quotients>();
  for (const index of trained) {
    const elements = arrays[index] as Float32Array;
    expected.set(
      index,
      await quotientsOf(elements, eps, (moved) => func(...leaves({ input: index, elements: moved }))),
    );
  }
  const points = leaves();
  const outputs = differentiable(func(...points));
  for (const [output, values] of outputs.entries()) {
    for (let at = 0; at < sizeOf(values.shape); at += 1) {
      const seed = new Float32Array(sizeOf(values.shape));
      seed[at] = 1;
      const gradients = grad(
        values,
        trained.map((index) => points[index]),
        {
          gradOutputs: tensor(seed, values.shape),
          materializeGrads: true,
        },
      );
      for (const [place, index] of trained.entries()) {
        const found = (await gradients[place].array()) as Float32Array;
        const quotients = expected.get(index)!.map((ofElement) => ofElement[output][at]);
        const wrong = quotients.findIndex(
          (one, k) => !(Math.abs(found[k] - one) <= atol + rtol * Math.abs(one)),
        );
        if (wrong < 0) continue;
        if (!raiseException) return false;
        throw new NnError(
          'ERR_BACKWARD',
          `autograd.${name}: the derivative of output ${output} (${describeType(values.value)}) at ${at} with respect to input ${index} (${describeType(list[index].value)}) at ${wrong} is ${found[wrong]}, but its difference quotient is ${quotients[wrong]}.`,
        );
      }
    }
  }
  return true;
}

/** For each element of an input, and each output, the quotients of the elements of the output. */
type Quotients = readonly (readonly Float32Array[])[];

async function quotientsOf(
  elements: Float32Array,
  eps: number,
  outputsAt: (moved: Float32Array) => Tensors,
): Promise<Quotients> {
  const quotients: Float32Array[][] = [];
  for (const [at, element] of elements.entries()) {
    const [above, below] = [Math.fround(element + eps), Math.fround(element - eps)];
    const [high, low] = [await numbersAt(above), await numbersAt(below)];
    quotients.push(
      high.map((ofOutput, index) => ofOutput.map((one, k) => (one - low[index][k]) / (above - below))),
    );
    async function numbersAt(number: number): Promise<Float32Array[]> {
      const outputs = differentiable(outputsAt(elements.with(at, number)));
      return (await Promise.all(outputs.map(async (output) => await output.array()))) as Float32Array[];
    }
  }
  return quotients;
}

/** The outputs that have gradients. */
function differentiable(outputs: Tensors): readonly Tensor[] {
  return listOf('outputs', outputs).filter((output) => isFloat(output.value) && output.requiresGrad);
}

function weightsOf({ shape }: Tensor): Tensor {
  const weights = Float32Array.from({ length: sizeOf(shape) }, (_, index) => Math.cos(1 + 2 * index));
  return tensor(weights, shape).requiresGrad_();
}
