import { ArgumentError } from '../../../errors/errors.ts';
import { Parameter } from '../../../tensor/parameter.ts';
import type { Tensor } from '../../../tensor/tensor.ts';
import { attributesOf } from '../../attributes.ts';
import { Module } from '../../module.ts';

/** Computes a parameter of a module from trained tensors, its originals. */
export abstract class Parametrization extends Module {
  /** The parameter, from its originals in the order of their keys. */
  abstract forward(...originals: readonly Tensor[]): Tensor;
}

/** The originals and the parametrization of one parameter, with torch's keys: `original` or `original0`, …, and `0`. */
export class ParametrizationList extends Module {
  readonly [name: string]: unknown;

  constructor(parametrization: Parametrization, originals: readonly Parameter[]) {
    super();
    const isOne = originals.length === 1;
    const named = originals.map((original, i) => [isOne ? 'original' : `original${i}`, original] as const);
    Object.assign(this, Object.fromEntries(named), { 0: parametrization });
    computed.set(this, { parametrization, originals });
  }

  /** The parameter. */
  forward(): Tensor {
    const { parametrization, originals } = computed.get(this)!;
    return parametrization.forward(...originals);
  }
}

const computed = new WeakMap<
  ParametrizationList,
  { readonly parametrization: Parametrization; readonly originals: readonly Parameter[] }
>();

/** The lists of a module by the name of the parameter. */
class Parametrizations extends Module {
  readonly [name: string]: unknown;
}

/**
 * Replaces a parameter by a computed tensor. Its originals are parameters of the submodule `parametrizations`, under torch's keys.
 *
 * @param where the calling function, for messages
 * @param make the parametrization of the parameter, and the originals
 */
export function parametrize(
  where: string,
  module: Module,
  name: string,
  make: (parameter: Parameter) => readonly [Parametrization, ...originals: Parameter[]],
): void {
  const holder = module as unknown as Record<string, unknown>;
  const parameter = holder[name];
  if (!(parameter instanceof Parameter) || !attributesOf(module).some(([, one]) => one === parameter)) {
    const names = attributesOf(module).filter(([, one]) => one instanceof Parameter);
    throw new ArgumentError(
      `${where}: expected the name of a parameter of ${module.constructor.name}, got '${name}'. Its parameters: ${names.map(([one]) => one).join(', ') || 'none'}.`,
    );
  }
  const [parametrization, ...originals] = make(parameter);
  const list = new ParametrizationList(parametrization, originals);
  const lists = (holder['parametrizations'] ??= new Parametrizations());
  Object.assign(lists, { [name]: list });
  list.train(module.training);
  // Not enumerable, because a module lists its enumerable properties.
  Object.defineProperty(module, name, {
    configurable: true,
    enumerable: false,
    get: () => list.forward(),
    set: () => {
      throw new ArgumentError(
        `${module.constructor.name}: expected no assignment to ${name}, which is computed. Change its originals, module.parametrizations.${name}.`,
      );
    },
  });
}
