import { ArgumentError } from '../errors/errors.ts';
import { Parameter } from '../tensor/parameter.ts';
import { describeValue } from '../checks/describe-value.ts';
import { Module } from './module.ts';
import { writeParameters } from './repr.ts';

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

  /** @internal */
  override extraRepr(): string {
    return writeParameters(
      Array.from(this, (parameter, position) => [`${position}`, parameter]),
      'torch.float32',
    );
  }
}
