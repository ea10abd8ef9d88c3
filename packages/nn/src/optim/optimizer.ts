import { compileUpdate, type Update } from '../compiler/compile.ts';
import { ArgumentError, NnError } from '../errors.ts';
import type { Value } from '../graph/node.ts';
import { input } from '../ops/source.ts';
import type { Parameter } from '../parameter.ts';

/** Values that a rule reads and writes for one parameter, all of its shape. */
export interface UpdateInputs {
  readonly parameter: Value;
  readonly gradient: Value;
  /** The optimizer's own arrays, zero before the first step. */
  readonly state: readonly Value[];
}

/** What the parameter and the states become. */
export interface UpdateOutputs {
  readonly parameter: Value;
  readonly state: readonly Value[];
}

/**
 * Changes parameters by their gradients (torch.optim.Optimizer).
 *
 * A subclass writes its rule as a graph over one parameter. All parameters' updates are compiled into one program that works in place.
 */
export abstract class Optimizer {
  readonly #parameters: readonly Parameter[];
  readonly #statesPerParameter: number;
  readonly #states = new Map<Parameter, readonly Float32Array[]>();
  readonly #updates = new Map<string, Promise<Update>>();

  /** @param statesPerParameter arrays that the rule keeps for each parameter */
  constructor(parameters: Iterable<Parameter>, statesPerParameter: number) {
    this.#parameters = [...new Set(parameters)];
    this.#statesPerParameter = statesPerParameter;
    if (this.#parameters.length === 0) {
      throw new ArgumentError('Optimizer: got no parameters; pass model.parameters().');
    }
  }

  /** Forgets the gradients of all parameters; the next backward pass starts new ones. */
  zeroGrad(): void {
    for (const parameter of this.#parameters) parameter.zeroGrad();
  }

  /** Updates every parameter that has a gradient, in place. */
  async step(): Promise<void> {
    const concerned = this.#parameters.filter(({ grad }) => grad !== undefined);
    if (concerned.length === 0) {
      throw new NnError(
        'ERR_BACKWARD',
        'step: no parameter has a gradient; await loss.backward() comes first.',
      );
    }
    this.beforeStep();
    const update = await this.#updateOf(concerned);
    await update();
  }

  /** The rule. Numbers that change from step to step are inputs over an array of the optimizer. */
  protected abstract update(inputs: UpdateInputs): UpdateOutputs;

  /** Called at the start of every step, to set those arrays. */
  protected abstract beforeStep(): void;

  #updateOf(parameters: readonly Parameter[]): Promise<Update> {
    // The gradient's place can change once, when a model is wrapped; the parameters with a gradient, at any step.
    const key = parameters.map((parameter) => this.#identify(parameter)).join();
    let update = this.#updates.get(key);
    if (update === undefined) {
      update = compileUpdate(parameters.flatMap((parameter) => this.#assignments(parameter)));
      this.#updates.set(key, update);
    }
    return update;
  }

  #identify(parameter: Parameter): string {
    return `${this.#parameters.indexOf(parameter)}${parameter.gradientSink === undefined ? '' : 's'}`;
  }

  #assignments(parameter: Parameter): { value: Value; into: Float32Array }[] {
    const { shape, data } = parameter;
    const leaf = (array: Float32Array) => input('float32', shape, { data: array });
    const states = this.#statesOf(parameter);
    const outputs = this.update({
      parameter: leaf(data),
      gradient: leaf(parameter.gradientPlace()),
      state: states.map(leaf),
    });
    return [
      { value: outputs.parameter, into: data },
      ...outputs.state.map((value, index) => ({ value, into: states[index] })),
    ];
  }

  #statesOf(parameter: Parameter): readonly Float32Array[] {
    let states = this.#states.get(parameter);
    if (states === undefined) {
      const { length } = parameter.data;
      states = Array.from({ length: this.#statesPerParameter }, () => new Float32Array(length));
      this.#states.set(parameter, states);
    }
    return states;
  }
}
