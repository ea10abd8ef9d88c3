import { describeValue } from '../checks/describe-value.ts';
import { requireBoolean } from '../checks/require-boolean.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, NnError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { isSameSequence } from '../graph/same-data.ts';
import { sumToShape } from '../ops/broadcast.ts';
import { customFunction } from '../ops/custom-gradient.ts';
import { cast } from '../ops/elementwise.ts';
import { zerosLike } from '../tensor/creation.ts';
import { noGrad } from '../tensor/no-grad.ts';
import { Tensor } from '../tensor/tensor.ts';
import { describeType } from '../value-type.ts';

/** What `backward` of a function returns: the gradient of each argument of `forward`; undefined for no gradient. */
export type FunctionGradients = Tensor | undefined | readonly (Tensor | undefined)[];

/** A class that extends `autograd.Function`: its static methods. */
export interface FunctionClass<Inputs extends unknown[], Output extends Tensor | readonly Tensor[]> {
  /** The class's name, in messages. */
  readonly name: string;
  /** Computes the outputs, without gradients. */
  forward(context: FunctionContext, ...inputs: Inputs): Output;
  /** Computes the gradients of the inputs from those of the outputs. */
  backward(context: FunctionContext, ...gradients: Tensor[]): FunctionGradients;
}

/** What `forward` of a function passes to its `backward` (torch.autograd.function.FunctionCtx). Other properties may be set. */
export class FunctionContext {
  [property: string]: unknown;
  /** For each argument of `forward`, whether its gradient is needed. */
  needsInputGrad: readonly boolean[] = [];
  #saved: readonly Tensor[] = [];
  readonly #nonDifferentiable = new Set<Tensor>();
  #materializes = true;
  readonly #results = new Map<Tensor, Tensor>();

  /** Keeps inputs and outputs of `forward` for `savedTensors`, so that `backward` is differentiable with respect to them. */
  saveForBackward(...tensors: Tensor[]): void {
    this.#saved = tensors;
  }

  /** The tensors of `saveForBackward`. */
  get savedTensors(): Tensor[] {
    return this.#saved.map((tensor) => this.#results.get(tensor) ?? tensor);
  }

  /** Outputs of `forward` that have no gradient, such as positions. Integers and booleans never have one. */
  markNonDifferentiable(...outputs: Tensor[]): void {
    for (const output of outputs) this.#nonDifferentiable.add(output);
  }

  /** If false, `backward` receives undefined for an output that nothing depends on, instead of zeros. Default: true. */
  setMaterializeGrads(value: boolean): void {
    requireBoolean('setMaterializeGrads', value);
    this.#materializes = value;
  }

  /**
   * The outputs of a function, whose gradients `rule` turns into those of `inputs`.
   *
   * @internal
   */
  connect(
    outputs: readonly Tensor[],
    inputs: readonly Tensor[],
    rule: (gradients: readonly (Tensor | undefined)[]) => readonly (Value | undefined)[],
  ): readonly Tensor[] {
    const differentiable = outputs.filter((one) => isFloat(one.value) && !this.#nonDifferentiable.has(one));
    const places = outputs.map((output) => differentiable.indexOf(output));
    const values = customFunction(
      differentiable.map(({ value }) => value),
      inputs.map(({ value }) => value),
      (gradients) =>
        rule(
          outputs.map((output, index) => {
            const gradient = gradients[places[index]];
            if (gradient !== undefined) return new Tensor(gradient);
            return this.#materializes ? zerosLike(output) : undefined;
          }),
        ),
    );
    const connected = outputs.map((output, index) =>
      places[index] < 0 ? output.detach() : new Tensor(values[places[index]]),
    );
    for (const [index, output] of outputs.entries()) this.#results.set(output, connected[index]);
    return connected;
  }
}

/**
 * A function with its own gradient, made of tensor operations (torch.autograd.Function). A class that extends it has two static
 * methods: `forward` computes outputs from any arguments, `backward` the gradients of these arguments from those of the outputs.
 *
 * ```ts
 * class Sign extends autograd.Function {
 *   static forward(context: autograd.FunctionContext, x: Tensor) {
 *     return x.sign();
 *   }
 *   static backward(context: autograd.FunctionContext, gradient: Tensor) {
 *     return gradient;
 *   }
 * }
 * const y = Sign.apply(x);
 * ```
 *
 * `backward` is called once in each backward pass, and its operations have gradients themselves.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- as in torch, its subclasses have static methods
export class CustomFunction {
  /**
   * Calls `forward`, and lets gradients pass through `backward`.
   *
   * @throws ArgumentError if `forward` or `backward` is missing, or if `forward` returns anything but tensors; NnError
   *   (ERR_BACKWARD) from a later backward pass if `backward` returns a wrong number of gradients, or one of another shape
   */
  static apply<Inputs extends unknown[], Output extends Tensor | readonly Tensor[]>(
    this: FunctionClass<Inputs, Output>,
    ...inputs: Inputs
  ): Output {
    requireMethods(this);
    const context = new FunctionContext();
    context.needsInputGrad = inputs.map((one) => one instanceof Tensor && one.requiresGrad);
    const result: unknown = noGrad(() => this.forward(context, ...inputs));
    const outputs = outputsOf(this.name, result);
    const trained = inputs.filter((_, index) => context.needsInputGrad[index]) as Tensor[];
    if (trained.length === 0) return result as Output;
    const connected = context.connect(outputs, trained, (gradients) =>
      gradientsOf(this.name, inputs, context, this.backward(context, ...(gradients as Tensor[]))),
    );
    return (Array.isArray(result) ? connected : connected[0]) as Output;
  }
}

function requireMethods({
  name,
  forward,
  backward,
}: Record<'forward' | 'backward', unknown> & { name: string }): void {
  if (typeof forward === 'function' && typeof backward === 'function') return;
  const missing = typeof forward === 'function' ? 'backward' : 'forward';
  throw new ArgumentError(
    `autograd.Function: expected ${name} to have static methods forward and backward, got no ${missing}. Write static ${missing}(context, …) { … }.`,
  );
}

function outputsOf(name: string, result: unknown): readonly Tensor[] {
  const list: readonly unknown[] = Array.isArray(result) ? result : [result];
  const wrong = list.find((one) => !(one instanceof Tensor));
  if (wrong === undefined && list.length > 0) return list as readonly Tensor[];
  throw new ArgumentError(
    `autograd.Function: expected ${name}.forward to return a tensor or a list of tensors, got ${describeValue(wrong)}.`,
  );
}

/** The gradients of the inputs that need one. */
function gradientsOf(
  name: string,
  inputs: readonly unknown[],
  { needsInputGrad }: FunctionContext,
  given: unknown,
): readonly (Value | undefined)[] {
  const gradients: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (gradients.length < inputs.length || gradients.slice(inputs.length).some((one) => one !== undefined)) {
    throw new NnError(
      'ERR_BACKWARD',
      `autograd.Function: expected ${name}.backward to return ${inputs.length} gradients, one for each argument of forward, got ${gradients.length}. Return undefined for arguments without a gradient.`,
    );
  }
  return inputs.flatMap((input, index) => {
    const gradient = gradients[index] ?? undefined;
    if (needsInputGrad[index]) return [fitted(name, index, gradient, (input as Tensor).value)];
    if (gradient === undefined || input instanceof Tensor) return [];
    throw new NnError(
      'ERR_BACKWARD',
      `autograd.Function: expected ${name}.backward to return undefined as gradient ${index}, because that argument of forward is ${describeValue(input)}, got ${describeValue(gradient)}.`,
    );
  });
}

/** A gradient of the shape of an input: summed where the input was broadcast. */
function fitted(name: string, index: number, gradient: unknown, input: Value): Value | undefined {
  if (gradient === undefined) return undefined;
  if (gradient instanceof Tensor && isFloat(gradient.value)) {
    const { value } = gradient;
    if (isSameSequence(value.shape, input.shape)) return cast(value, input.dtype);
    if (isBroadcast(input, value)) return cast(sumToShape(value, input.shape), input.dtype);
  }
  const got = gradient instanceof Tensor ? describeType(gradient.value) : describeValue(gradient);
  throw new NnError(
    'ERR_BACKWARD',
    `autograd.Function: expected ${name}.backward to return a gradient ${describeType(input)} at position ${index}, the shape of that argument of forward, got ${got}.`,
  );
}

/** True if a value of the first shape broadcasts to the second. */
function isBroadcast(from: Value, to: Value): boolean {
  const added = to.shape.length - from.shape.length;
  return added >= 0 && from.shape.every((size, axis) => size === 1 || size === to.shape[axis + added]);
}
