import { ArgumentError } from '../errors.ts';
import { describeValue } from '../stored-tensor.ts';
import { Module } from './module.ts';

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
