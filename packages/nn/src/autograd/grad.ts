import { requireBoolean } from '../checks/require-boolean.ts';
import { describeValue } from '../checks/describe-value.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { gradientsFrom, isScalar, onesLike, type Seeds } from '../compiler/differentiate.ts';
import { ArgumentError, NnError } from '../errors/errors.ts';
import { findOutdated, outdatedError } from '../graph/changes.ts';
import { buildingGradients } from '../graph/collective.ts';
import { hookedGradient } from '../graph/custom-gradient.ts';
import type { Value } from '../graph/node.ts';
import { differentiableValues, topologicalOrder } from '../graph/topology.ts';
import { cast, detach } from '../ops/elementwise.ts';
import { expand } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { enableGrad } from '../tensor/no-grad.ts';
import { requireGradient } from '../tensor/tensor-gradient.ts';
import { Tensor } from '../tensor/tensor.ts';
import { describeType } from '../value-type.ts';

/** Options of {@link grad}. */
export interface GradOptions {
  /** The gradient of each output, of its shape. Default: 1 for outputs of one element. */
  gradOutputs?: Tensor | readonly (Tensor | undefined)[] | undefined;
  /** If true, the gradients have gradients themselves: for second derivatives. Default: false. */
  createGraph?: boolean;
  /** Has no effect: a graph can always be used again. */
  retainGraph?: boolean;
  /** If true, inputs that the outputs do not depend on have the gradient undefined instead of an error. Default: false. */
  allowUnused?: boolean;
  /** If true, they have a gradient of zeros. Default: false. */
  materializeGrads?: boolean;
}

const optionNames: OptionNames<GradOptions> = {
  gradOutputs: true,
  createGraph: true,
  retainGraph: true,
  allowUnused: true,
  materializeGrads: true,
};

/** One tensor or several. */
export type Tensors = Tensor | readonly Tensor[];

/**
 * The gradients of outputs with respect to inputs, with `allowUnused`: undefined for inputs that the outputs do not depend on.
 */
export function grad(
  outputs: Tensors,
  inputs: Tensors,
  options: GradOptions & { allowUnused: true; materializeGrads?: false },
): (Tensor | undefined)[];
/**
 * The gradients of outputs with respect to inputs: Σ d output / d input, weighed by `gradOutputs` (torch.autograd.grad). No `grad`
 * changes, and DistributedDataParallel averages nothing. The gradients are lazy tensors: nothing is computed before they, or tensors
 * computed from them, are read.
 *
 * @param outputs float32; they depend on the inputs
 * @param inputs Parameters, tensors with `requiresGrad`, and tensors computed from these
 * @returns the gradients of the inputs, in their order and of their shapes; without gradients themselves unless `createGraph` is set
 * @throws NnError (ERR_BACKWARD) if an output or input has no gradient, if an output is not one number and its gradient is missing,
 *   if the outputs do not depend on an input, or if an operator has no second derivative; (ERR_OUTDATED) if parameters have changed
 *   since the outputs were computed from them; ArgumentError for other arguments; ShapeError if a gradient has another shape
 */
export function grad(outputs: Tensors, inputs: Tensors, options?: GradOptions): Tensor[];
export function grad(outputs: Tensors, inputs: Tensors, options: GradOptions = {}): (Tensor | undefined)[] {
  requireOptions('autograd.grad', options, optionNames);
  const { createGraph = false, allowUnused = false, materializeGrads = false } = options;
  for (const [name, value] of Object.entries({ createGraph, allowUnused, materializeGrads }))
    requireBoolean(`autograd.grad: ${name}`, value);
  const of = listOf('outputs', outputs);
  const by = listOf('inputs', inputs);
  const seeds = seedsOf(of, options.gradOutputs);
  requireCurrent(of.map(({ value }) => value));
  for (const [index, input] of by.entries()) requireDifferentiable('input', index, input);
  const reached = differentiableValues(of.map(({ value }) => value));
  const wanted = new Set(by.map(({ value }) => value));
  const gradients = enableGrad(() =>
    buildingGradients(() =>
      gradientsFrom(seeds, { isWanted: (value) => wanted.has(value), complete: hookedGradient, createGraph }),
    ),
  );
  return by.map(({ value }, index) => {
    if (!reached.has(value) && !materializeGrads) {
      if (allowUnused) return undefined;
      throw new NnError(
        'ERR_BACKWARD',
        `autograd.grad: the outputs do not depend on input ${index}, ${describeType(value)}. Pass { allowUnused: true } for undefined, or { materializeGrads: true } for zeros.`,
      );
    }
    const gradient = gradients.get(value) ?? cast(expand(constant(0), value.shape), value.dtype);
    return enableGrad(() => new Tensor(createGraph ? gradient : detach(gradient)));
  });
}

/** @param name of the argument */
export function listOf(name: string, given: Tensors): readonly Tensor[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  const wrong = list.find((one) => !(one instanceof Tensor));
  if (wrong === undefined && list.length > 0) return list as readonly Tensor[];
  throw new ArgumentError(
    `autograd: expected a tensor or a list of tensors as ${name}, got ${describeValue(list.length > 0 ? wrong : given)}.`,
  );
}

function seedsOf(outputs: readonly Tensor[], given: GradOptions['gradOutputs']): Seeds {
  const gradients: readonly unknown[] = given === undefined || given instanceof Tensor ? [given] : given;
  if (given !== undefined && gradients.length !== outputs.length) {
    throw new ArgumentError(
      `autograd.grad: expected one gradient for each of ${outputs.length} outputs as gradOutputs, got ${gradients.length}.`,
    );
  }
  return outputs.map((output, index) => {
    const { value } = output;
    requireDifferentiable('output', index, output);
    const gradient = gradients[index] ?? undefined;
    if (gradient !== undefined) {
      return [value, cast(requireGradient('autograd.grad', gradient, Tensor, value).value, value.dtype)];
    }
    if (isScalar(value)) return [value, onesLike(value)];
    throw new NnError(
      'ERR_BACKWARD',
      `autograd.grad: expected an output of one number, got ${describeType(value)} as output ${index}. Reduce it with sum() or mean(), or pass its gradient: { gradOutputs: onesLike(y) }.`,
    );
  });
}

function requireDifferentiable(name: 'input' | 'output', index: number, tensor: Tensor): void {
  if (tensor.requiresGrad) return;
  const cure =
    name === 'input'
      ? 'Set x.requiresGrad = true before the outputs are computed from it.'
      : 'Compute it outside of noGrad from Parameters or tensors with requiresGrad.';
  throw new NnError(
    'ERR_BACKWARD',
    `autograd.grad: ${name} ${index}, ${describeType(tensor.value)}, has no gradient. ${cure}`,
  );
}

function requireCurrent(outputs: readonly Value[]): void {
  const outdated = findOutdated(topologicalOrder(outputs));
  if (outdated === undefined) return;
  throw outdatedError(
    'autograd.grad: the output',
    outdated,
    'Call grad before the change, or compute the output again.',
  );
}
