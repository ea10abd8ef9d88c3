import { ArgumentError } from '../errors.ts';
import { Parameter } from '../parameter.ts';
import { describeValue } from '../stored-tensor.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';

/** Returns its input (torch.nn.Identity), in place of a layer that is left out. */
export class Identity extends Module {
  /** The input itself. */
  forward(input: Tensor): Tensor {
    return input;
  }
}

/** Splits a dimension into several (torch.nn.Unflatten): see `Tensor.unflatten`. */
export class Unflatten extends Module {
  readonly #dim: number;
  readonly #sizes: readonly number[];

  /** @param sizes their product is the length of `dim`; one may be −1 */
  constructor(dim: number, sizes: readonly number[]) {
    super();
    this.#dim = dim;
    this.#sizes = [...sizes];
  }

  /** Splits the dimension; the elements keep their order. */
  forward(input: Tensor): Tensor {
    return input.unflatten(this.#dim, this.#sizes);
  }
}

/** Modules by name, registered as children (torch.nn.ModuleDict): `dict.at('encoder')` has the parameters `encoder.weight`, … */
export class ModuleDict<M extends Module = Module> extends Module implements Iterable<[string, M]> {
  readonly #modules = new Map<string, M>();

  constructor(modules: Readonly<Record<string, M>> | Iterable<readonly [string, M]> = {}) {
    super();
    const entries = Symbol.iterator in modules ? modules : Object.entries(modules);
    for (const [name, module] of entries) this.set(name, module);
  }

  /** Adds or replaces a module. Its name must not be that of a property of modules. */
  set(name: string, module: M): this {
    if (!(module instanceof Module)) {
      throw new ArgumentError(`ModuleDict: expected Modules, got ${describeValue(module)} as '${name}'.`);
    }
    if (name in this && !this.#modules.has(name)) {
      throw new ArgumentError(`ModuleDict: '${name}' is a property of every module. Choose another name.`);
    }
    this.#modules.set(name, module);
    Object.assign(this, { [name]: module });
    return this;
  }

  /** The module with a name; throws if there is none. */
  at(name: string): M {
    const module = this.#modules.get(name);
    if (module === undefined) {
      throw new ArgumentError(
        `ModuleDict: expected one of ${[...this.#modules.keys()].join(', ') || 'no names'}, got '${name}'.`,
      );
    }
    return module;
  }

  /** Number of modules. */
  get size(): number {
    return this.#modules.size;
  }

  /** The names and modules, in the order in which they were added. */
  [Symbol.iterator](): IterableIterator<[string, M]> {
    return this.#modules.entries();
  }
}

/** Parameters in a list, registered in their module (torch.nn.ParameterList): the first is `0`, … */
export class ParameterList extends Module implements Iterable<Parameter> {
  readonly [position: number]: Parameter;

  constructor(parameters: Iterable<Parameter> = []) {
    super();
    for (const parameter of parameters) this.append(parameter);
  }

  /** Number of parameters. */
  get length(): number {
    return Object.values(this).filter((property) => property instanceof Parameter).length;
  }

  /** Adds a parameter at the end. */
  append(parameter: Parameter): this {
    if (!(parameter instanceof Parameter)) {
      throw new ArgumentError(
        `ParameterList: expected Parameters, got ${describeValue(parameter)} at index ${this.length}.`,
      );
    }
    Object.assign(this, { [this.length]: parameter });
    return this;
  }

  /** Yields the parameters in order. */
  *[Symbol.iterator](): Generator<Parameter> {
    for (let position = 0; position < this.length; position += 1) yield this[position];
  }
}
