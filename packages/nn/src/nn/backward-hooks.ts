import { describeValue } from '../checks/describe-value.ts';
import { ArgumentError, NnError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { customFunction } from '../ops/custom-gradient.ts';
import { cast } from '../ops/elementwise.ts';
import { requireGradient } from '../tensor/tensor-gradient.ts';
import { Tensor } from '../tensor/tensor.ts';

/** The gradients of a module's inputs or outputs; undefined where there is none. */
export type ModuleGradients = readonly (Tensor | undefined)[];

/**
 * Called in a backward pass with the gradients of a module's inputs and outputs. If it returns a value, it replaces the gradients of
 * the inputs: a list, or that of the only input.
 */
export type BackwardHook<M> = (
  module: M,
  gradInput: ModuleGradients,
  gradOutput: ModuleGradients,
) => Tensor | ModuleGradients | undefined;

/**
 * Called in a backward pass with the gradients of a module's outputs, before those of its inputs are computed. If it returns a value, it
 * replaces them: a list, or that of the only output.
 */
export type BackwardPreHook<M> = (
  module: M,
  gradOutput: ModuleGradients,
) => Tensor | ModuleGradients | undefined;

type Call = (...values: unknown[]) => unknown;

/** The hooks of one call of `forward`: inputs and outputs pass through functions whose gradients call them. */
export class BackwardCall {
  readonly #module: object;
  readonly #before: readonly Call[];
  readonly #after: readonly Call[];
  #hasInputs = false;
  #count = 0;
  #gradOutput: ModuleGradients | undefined;

  constructor(module: object, before: readonly Call[], after: readonly Call[]) {
    this.#module = module;
    this.#before = before;
    this.#after = after;
  }

  /** The inputs, whose gradients call the hooks. */
  inputs(inputs: readonly unknown[]): unknown[] {
    this.#count = inputs.length;
    const wrapped = wrap(inputs, (gradients) => {
      const gradOutput = this.#gradOutput;
      // This pass does not come from the outputs.
      if (gradOutput === undefined) return gradients;
      this.#gradOutput = undefined;
      return this.#called(this.#after, 'registerFullBackwardHook', gradients, [gradOutput]);
    });
    this.#hasInputs = wrapped !== undefined;
    return wrapped ?? [...inputs];
  }

  /** The outputs, whose gradients the hooks get. */
  output(output: unknown): unknown {
    if (!(output instanceof Tensor) && !Array.isArray(output)) {
      throw new ArgumentError(
        `registerFullBackwardHook: expected a module that returns a tensor or a list of tensors, got ${describeValue(output)}. Register the hook on a submodule that does.`,
      );
    }
    const list: readonly unknown[] = Array.isArray(output) ? output : [output];
    const wrapped = wrap(list, (gradients) => {
      const gradOutput = this.#called(this.#before, 'registerFullBackwardPreHook', gradients, []);
      this.#gradOutput = gradOutput;
      if (!this.#hasInputs) this.#callWithoutInputs(gradOutput);
      return gradOutput;
    });
    if (wrapped === undefined) return output;
    return Array.isArray(output) ? wrapped : wrapped[0];
  }

  #callWithoutInputs(gradOutput: ModuleGradients): void {
    this.#gradOutput = undefined;
    const none = Array.from({ length: this.#count }, () => undefined);
    for (const hook of this.#after) {
      const changed = hook(this.#module, none, gradOutput);
      if (changed === undefined || listOf(changed).every((one) => one === undefined)) continue;
      throw new NnError(
        'ERR_BACKWARD',
        `registerFullBackwardHook: expected undefined from a hook of a module of whose inputs none has a gradient, got ${describeValue(changed)}.`,
      );
    }
  }

  #called(
    hooks: readonly Call[],
    where: string,
    gradients: ModuleGradients,
    others: readonly unknown[],
  ): ModuleGradients {
    return hooks.reduce<ModuleGradients>((current, hook) => {
      const changed = hook(this.#module, current, ...others);
      return changed === undefined ? current : replaced(where, current, listOf(changed));
    }, gradients);
  }
}

function listOf(given: unknown): readonly unknown[] {
  return Array.isArray(given) ? given : [given];
}

function replaced(where: string, gradients: ModuleGradients, given: readonly unknown[]): ModuleGradients {
  if (given.length !== gradients.length) {
    throw new NnError(
      'ERR_BACKWARD',
      `${where}: expected a hook that returns ${gradients.length} gradients, got ${given.length}.`,
    );
  }
  return gradients.map((gradient, index) => {
    const one = given[index];
    if (gradient === undefined || one === undefined) return undefined;
    return requireGradient(where, one, Tensor, gradient.value);
  });
}

/**
 * A list with other tensors for those that have gradients. `rule` gets their gradients at their places, and returns others. Undefined if
 * none has one.
 */
function wrap(
  list: readonly unknown[],
  rule: (gradients: ModuleGradients) => ModuleGradients,
): unknown[] | undefined {
  const places = [...list.keys()].filter((place) => {
    const one = list[place];
    return one instanceof Tensor && one.requiresGrad;
  });
  if (places.length === 0) return undefined;
  const values = places.map((place) => (list[place] as Tensor).value);
  const outputs = customFunction(values, values, (gradients) => {
    const all: (Tensor | undefined)[] = list.map(() => undefined);
    for (const [index, place] of places.entries()) {
      const gradient = gradients[index];
      if (gradient) all[place] = new Tensor(gradient);
    }
    const changed = rule(all);
    return places.map((place, index) => castTo(changed[place], values[index]));
  });
  const wrapped = [...list];
  for (const [index, place] of places.entries()) wrapped[place] = new Tensor(outputs[index]);
  return wrapped;
}

function castTo(gradient: Tensor | undefined, { dtype }: Value): Value | undefined {
  return gradient && cast(gradient.value, dtype);
}
