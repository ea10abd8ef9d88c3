import { arranged } from '../../../calls/arrange.ts';
import type { Call } from '../../../calls/call.ts';
import { ShapeError } from '../../../errors/errors.ts';
import { Parameter } from '../../../tensor/parameter.ts';
import type { Tensor } from '../../../tensor/tensor.ts';
import { describeType } from '../../../value-type.ts';
import type { Module } from '../../module.ts';
import { parametrize, Parametrization } from './parametrization.ts';

/** Options of {@link weightNorm}. */
export interface WeightNormOptions {
  /** Name of the parameter. Default: 'weight'. */
  name?: string;
  /** Dimension whose slices have a norm each; null: one norm of the whole parameter. Default: 0. */
  dim?: number | null;
}

/**
 * Computes a parameter as g·v / ‖v‖, so that its norm and its direction are trained apart
 * (torch.nn.utils.parametrizations.weight_norm; Salimans and Kingma, 2016). The state dict has torch's keys, such as
 * `parametrizations.weight.original0` for g and `parametrizations.weight.original1` for v. Create the optimizer afterwards.
 *
 * @returns the module
 * @throws ArgumentError if the module has no such parameter; ShapeError if the parameter has no such dimension
 */
export function weightNorm<M extends Module>(
  ...given: Call<[module: M, options?: WeightNormOptions | undefined], 'nn.utils.parametrizations.weightNorm'>
): M {
  const [module, { name = 'weight', dim = 0 }] = arranged('nn.utils.parametrizations.weightNorm', given);
  parametrize('weightNorm', module, name, (parameter) => {
    const rank = parameter.shape.length;
    // As in torch, −1 means the whole parameter.
    const kept = dim === null || dim === -1 ? undefined : dim < 0 ? dim + rank : dim;
    if (kept !== undefined && !(Number.isInteger(kept) && kept >= 0 && kept < rank)) {
      throw new ShapeError(`weightNorm: expected a dimension of ${describeType(parameter)}, got ${dim}.`);
    }
    const shape = kept === undefined ? [] : parameter.shape.map((size, axis) => (axis === kept ? size : 1));
    const norms = normsOf(parameter, kept);
    return [new WeightNorm(kept), new Parameter(norms, shape), parameter];
  });
  return module;
}

class WeightNorm extends Parametrization {
  readonly #dim: number | undefined;

  constructor(dim: number | undefined) {
    super();
    this.#dim = dim;
  }

  forward(norm: Tensor, direction: Tensor): Tensor {
    const others = [...direction.shape.keys()].filter((axis) => axis !== this.#dim);
    const length = others.length === 0 ? direction.abs() : direction.norm(2, others, this.#dim !== undefined);
    return direction.mul(norm.div(length));
  }
}

/** The norm of each slice of a dimension, or of the whole parameter. */
function normsOf({ data, shape }: Parameter, dim: number | undefined): Float32Array {
  const count = dim === undefined ? 1 : shape[dim];
  const inner = dim === undefined ? 1 : shape.slice(dim + 1).reduce((product, size) => product * size, 1);
  const squares = new Float64Array(count);
  for (const [i, x] of data.entries()) squares[Math.floor(i / inner) % count] += x * x;
  return Float32Array.from(squares, Math.sqrt);
}
