import { requireBoolean } from '../checks/require-boolean.ts';
import { requireFunction } from '../checks/require-function.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { ArgumentError, NnError, ShapeError } from '../errors/errors.ts';
import { isSameSequence } from '../graph/same-data.ts';
import { variable } from '../ops/custom-gradient.ts';
import { stack } from '../tensor/combine.ts';
import { ones, zeros, zerosLike } from '../tensor/creation.ts';
import { enableGrad } from '../tensor/no-grad.ts';
import { Tensor } from '../tensor/tensor.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { grad, listOf, type Tensors } from './grad.ts';

/** Options of the functions of `autograd.functional`. */
export interface FunctionalOptions {
  /** If true, the results have gradients. Default: false. */
  createGraph?: boolean;
  /** If true, throws if an output does not depend on an input, instead of returning zeros. Default: false. */
  strict?: boolean;
}

const optionNames: OptionNames<FunctionalOptions> = { createGraph: true, strict: true };

/** A function of as many tensors as it has inputs. */
export type TensorFunction<Output extends Tensors> = (...inputs: Tensor[]) => Output;

/**
 * The product of a vector and the Jacobian of a function (torch.autograd.functional.vjp): Σ v·dy/dx, by one backward pass.
 *
 * @param v of the shapes of the outputs. Default: 1 for a function of one number.
 * @returns the outputs of the function, and the products, in the form of `inputs`
 */
export function vjp<Output extends Tensors, Inputs extends Tensors>(
  func: TensorFunction<Output>,
  inputs: Inputs,
  v?: Tensors,
  options: FunctionalOptions = {},
): [outputs: Output, products: Inputs] {
  const call = called('vjp', func, inputs, options);
  const products = call.gradients(
    call.outputs,
    call.inputs,
    vectors('vjp', call.outputs, v),
    call.createGraph,
  );
  return [call.result(call.output) as Output, call.like(inputs, products)];
}

/**
 * The product of the Jacobian of a function and a vector (torch.autograd.functional.jvp): Σ dy/dx·v. By two backward passes, because
 * the derivative of `vjp` with respect to its vector is this product.
 *
 * @param v of the shapes of the inputs. Default: 1 for an input of one number.
 * @returns the outputs of the function, and the products, in the form of the outputs
 */
export function jvp<Output extends Tensors>(
  func: TensorFunction<Output>,
  inputs: Tensors,
  v?: Tensors,
  options: FunctionalOptions = {},
): [outputs: Output, products: Output] {
  const call = called('jvp', func, inputs, options);
  const directions = vectors('jvp', call.inputs, v);
  const weights = call.outputs.map((output) => leafOf(zerosLike(output), false));
  const products = call.gradients(call.outputs, call.inputs, weights, true);
  const derivatives = call.gradients(products, weights, directions, call.createGraph);
  return [call.result(call.output) as Output, call.like(call.output, derivatives) as Output];
}

/**
 * The Jacobian of a function (torch.autograd.functional.jacobian): [...output, ...input], the derivative of each element of the output
 * with respect to each element of the input. Takes one backward pass for each element of the output, all in one graph.
 *
 * @returns for a list of inputs, a list of Jacobians; for a list of outputs, a list of the former
 */
export function jacobian<Output extends Tensors, Inputs extends Tensors>(
  func: TensorFunction<Output>,
  inputs: Inputs,
  options: FunctionalOptions = {},
): Output extends Tensor ? Inputs : Inputs[] {
  const call = called('jacobian', func, inputs, options);
  const rows = call.outputs.map((output) => {
    const elements = output.flatten();
    const gradients = Array.from({ length: sizeOf(output.shape) }, (_, at) =>
      call.gradients([elements.at(at)], call.inputs, undefined, call.createGraph),
    );
    const matrices = call.inputs.map(({ shape }, index) => {
      const all = [...output.shape, ...shape];
      if (gradients.length === 0) return zeros(all);
      return stack(gradients.map((ofElement) => ofElement[index])).reshape(all);
    });
    return call.like(inputs, matrices);
  });
  return (call.output instanceof Tensor ? rows[0] : rows) as Output extends Tensor ? Inputs : Inputs[];
}

/**
 * The Hessian of a function that returns one number (torch.autograd.functional.hessian): the derivatives of its gradient.
 *
 * @returns [...input, ...input]; for a list of inputs, a list of lists
 */
export function hessian<Inputs extends Tensors>(
  func: TensorFunction<Tensor>,
  inputs: Inputs,
  options: FunctionalOptions = {},
): Inputs extends Tensor ? Tensor : Tensor[][] {
  const ofGradient = (...leaves: Tensor[]): Tensors => {
    const call = called('hessian', func, leaves, { ...options, createGraph: true }, true);
    const gradients = call.gradients([oneNumber('hessian', call.output)], call.inputs, undefined, true);
    return inputs instanceof Tensor ? gradients[0] : gradients;
  };
  return jacobian(ofGradient, inputs, options) as unknown as Inputs extends Tensor ? Tensor : Tensor[][];
}

/**
 * The product of a vector and the Hessian of a function that returns one number (torch.autograd.functional.vhp), by two backward
 * passes.
 *
 * @param v of the shapes of the inputs. Default: 1 for an input of one number.
 * @returns the output of the function, and the products, in the form of `inputs`
 */
export function vhp<Inputs extends Tensors>(
  func: TensorFunction<Tensor>,
  inputs: Inputs,
  v?: Tensors,
  options: FunctionalOptions = {},
): [output: Tensor, products: Inputs] {
  const call = called('vhp', func, inputs, options);
  const output = oneNumber('vhp', call.output);
  const directions = vectors('vhp', call.inputs, v);
  const slopes = call.gradients([output], call.inputs, undefined, true);
  const products = call.gradients(slopes, call.inputs, directions, call.createGraph);
  return [call.result(output) as Tensor, call.like(inputs, products)];
}

/**
 * The product of the Hessian of a function that returns one number and a vector (torch.autograd.functional.hvp). Equals `vhp`, because
 * the Hessian is symmetric, and takes the same two backward passes.
 *
 * @param v of the shapes of the inputs. Default: 1 for an input of one number.
 * @returns the output of the function, and the products, in the form of `inputs`
 */
export function hvp<Inputs extends Tensors>(
  func: TensorFunction<Tensor>,
  inputs: Inputs,
  v?: Tensors,
  options: FunctionalOptions = {},
): [output: Tensor, products: Inputs] {
  return vhp(func, inputs, v, options);
}

/** A call of a function on leaves that have the elements of its inputs. */
interface Called {
  readonly inputs: readonly Tensor[];
  readonly output: Tensors;
  readonly outputs: readonly Tensor[];
  readonly createGraph: boolean;
  /** The result of the function, as it is returned. */
  result(output: Tensors): Tensors;
  /** A list of tensors if `others` is a list, otherwise the only tensor. */
  like<T extends Tensors>(others: T, tensors: readonly Tensor[]): T;
  /** The gradients of some outputs that have gradients; zeros without such outputs. */
  gradients(
    outputs: readonly Tensor[],
    inputs: readonly Tensor[],
    gradients: readonly Tensor[] | undefined,
    createGraph: boolean,
  ): Tensor[];
}

/** @param areLeaves true if the inputs are leaves already */
function called(
  name: string,
  func: unknown,
  given: Tensors,
  options: FunctionalOptions,
  areLeaves = false,
): Called {
  requireOptions(`autograd.functional.${name}`, options, optionNames);
  const { createGraph = false, strict = false } = options;
  requireBoolean(`autograd.functional.${name}: createGraph`, createGraph);
  requireBoolean(`autograd.functional.${name}: strict`, strict);
  requireFunction(`autograd.functional.${name}`, func);
  const originals = listOf('inputs', given);
  const inputs = areLeaves ? originals : originals.map((input) => leafOf(input, createGraph));
  const output = enableGrad(() => (func as TensorFunction<Tensors>)(...inputs));
  const detached = (tensor: Tensor) => (createGraph ? tensor : tensor.detach());
  return {
    inputs,
    output,
    outputs: listOf('outputs', output),
    createGraph,
    result: (result) => (result instanceof Tensor ? detached(result) : result.map(detached)),
    like: (others, tensors) => (others instanceof Tensor ? tensors[0] : [...tensors]) as typeof others,
    gradients: (outputs, of, weights, graph) => {
      const places = [...outputs.keys()].filter((index) => outputs[index].requiresGrad);
      if (places.length < outputs.length && strict) throw independent(name, outputs);
      if (places.length === 0) return of.map((input) => zerosLike(input));
      const gradients = grad(
        places.map((index) => outputs[index]),
        of,
        {
          ...(weights && { gradOutputs: places.map((index) => weights[index]) }),
          createGraph: graph,
          ...(strict ? {} : { materializeGrads: true }),
        },
      );
      return gradients;
    },
  };
}

/** A leaf with the elements of a tensor. If `keeps`, its gradients pass on to that tensor. */
function leafOf(tensor: Tensor, keeps: boolean): Tensor {
  return enableGrad(() => new Tensor(variable((keeps ? tensor : tensor.detach()).value)));
}

function independent(name: string, outputs: readonly Tensor[]): NnError {
  const types = outputs.map(({ value }) => describeType(value)).join(', ');
  return new NnError(
    'ERR_BACKWARD',
    `autograd.functional.${name}: expected outputs that depend on the inputs, because strict is true, got ${types} that do not. Leave out strict for zeros.`,
  );
}

function oneNumber(name: string, output: Tensors): Tensor {
  if (output instanceof Tensor && sizeOf(output.shape) === 1) return output;
  const got = output instanceof Tensor ? describeType(output.value) : 'a list';
  throw new ArgumentError(
    `autograd.functional.${name}: expected a function that returns one number, got ${got}. Reduce it with sum() or mean().`,
  );
}

/** The vector of a product: of the shapes of some tensors. */
function vectors(name: string, like: readonly Tensor[], v: Tensors | undefined): readonly Tensor[] {
  if (v === undefined) {
    if (like.length === 1 && sizeOf(like[0].shape) === 1) return [ones(like[0].shape)];
    throw new ArgumentError(
      `autograd.functional.${name}: expected a vector v of the shapes ${like.map(({ value }) => describeType(value)).join(', ')}, got none.`,
    );
  }
  const given = listOf('v', v);
  const fits =
    given.length === like.length && given.every((one, at) => isSameSequence(one.shape, like[at].shape));
  if (fits) return given;
  const typesOf = (tensors: readonly Tensor[]) => tensors.map(({ value }) => describeType(value)).join(', ');
  throw new ShapeError(
    `autograd.functional.${name}: expected v of the shapes ${typesOf(like)}, got ${typesOf(given)}.`,
  );
}
