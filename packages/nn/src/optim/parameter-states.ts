import type { ParameterSharing } from '@ringrun/core';
import { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { Parameter } from '../tensor/parameter.ts';
import { ParameterState } from './parameter-state.ts';

/** The states of all parameters of an optimizer. */
export class ParameterStates {
  readonly #states = new Map<Parameter, ParameterState>();

  /** The parameters, in the order of the groups. */
  parameters(): Iterable<Parameter> {
    return this.#states.keys();
  }

  add(parameter: Parameter): void {
    this.#states.set(parameter, new ParameterState(this.#states.size));
  }

  of(parameter: Parameter): ParameterState {
    return this.#states.get(parameter)!;
  }

  /** True if the next update of all these parameters, at least one, has the same progress. */
  areAsFar(parameters: readonly Parameter[]): boolean {
    const first = this.of(parameters[0]);
    return parameters.every((parameter) => this.of(parameter).isAsFarAs(first));
  }

  /** True if the states of all these parameters are in the memory of their parameters. */
  haveAll(parameters: readonly Parameter[], names: readonly string[]): boolean {
    return parameters.every((parameter) => this.of(parameter).hasAll(names, parameter.gradientSink?.sharing));
  }

  /** Ensures that the states have arrays in the memory of their parameters. A collective if it is shared. */
  place(parameters: readonly Parameter[], names: readonly string[]): void {
    const missing = new Map<ParameterSharing | undefined, MissingState[]>();
    for (const parameter of parameters) {
      const sharing = parameter.gradientSink?.sharing;
      const state = this.of(parameter);
      if (state.hasAll(names, sharing)) continue;
      const named = state.missing(names, sharing);
      missing.set(sharing, [...(missing.get(sharing) ?? []), ...named.map((name) => ({ parameter, name }))]);
    }
    for (const [sharing, states] of missing) {
      const lengths = states.map(({ parameter }) => parameter.memory.length);
      const arrays = sharing?.allocateSync(lengths) ?? lengths.map((length) => new Float32Array(length));
      for (const [position, { parameter, name }] of states.entries()) {
        const part = sharing?.ownPartOf(parameter) ?? { begin: 0, end: parameter.memory.length };
        const memory = new ManagedBuffer(arrays[position]);
        this.of(parameter).place(name, { memory, sharing }, part);
      }
    }
  }
}

interface MissingState {
  readonly parameter: Parameter;
  readonly name: string;
}
