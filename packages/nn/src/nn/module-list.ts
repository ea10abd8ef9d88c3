import { ArgumentError } from '../errors/errors.ts';
import { describeValue } from '../checks/describe-value.ts';
import { Module } from './module.ts';
import { collapseEqual } from './repr.ts';

/** A list of modules, registered as children of its module (torch.nn.ModuleList): the first has parameters `0.weight`, … */
export class ModuleList<M extends Module = Module> extends Module implements Iterable<M> {
  readonly [position: number]: M;

  constructor(modules: Iterable<M> = []) {
    super();
    for (const module of modules) this.append(module);
  }

  /** Number of modules. */
  get length(): number {
    return Object.values(this).filter((property) => property instanceof Module).length;
  }

  /** Adds a module at the end. */
  append(module: M): this {
    if (!(module instanceof Module)) {
      throw new ArgumentError(
        `ModuleList: expected Modules, got ${describeValue(module)} at index ${this.length}.`,
      );
    }
    Object.assign(this, { [this.length]: module });
    return this;
  }

  /** Yields the modules in order. */
  *[Symbol.iterator](): Generator<M> {
    for (let position = 0; position < this.length; position += 1) yield this[position];
  }

  /** @internal */
  protected override writtenChildren(): [name: string, text: string][] {
    return collapseEqual(Array.from(this, String));
  }
}
