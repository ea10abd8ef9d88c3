import { arranged } from '../../../calls/arrange.ts';
import type { Call } from '../../../calls/call.ts';
import { requirePositive, requirePositiveInteger } from '../../../checks/require-number.ts';
import { ShapeError } from '../../../errors/errors.ts';
import { normalize } from '../../../functional/normalize.ts';
import { assignWhenRun } from '../../../graph/assignment.ts';
import { defaultGenerator } from '../../../random/generator.ts';
import { BufferTensor } from '../../../tensor/buffer-tensor.ts';
import { noGrad } from '../../../tensor/no-grad.ts';
import type { Parameter } from '../../../tensor/parameter.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import { describeType } from '../../../value-type.ts';
import { ConvTranspose } from '../../conv-transpose.ts';
import type { Module } from '../../module.ts';
import { parametrize, Parametrization } from './parametrization.ts';

/** Options of {@link spectralNorm}. */
export interface SpectralNormOptions {
  /** Name of the parameter. Default: 'weight'. */
  name?: string;
  /** Power iterations in each forward call in training. Default: 1. */
  nPowerIterations?: number;
  /** Lower bound of norms, against division by 0. Default: 1e-12. */
  eps?: number;
  /** Dimension of the outputs. Default: 1 for transposed convolutions, else 0. */
  dim?: number;
}

/** Power iterations when the norm is added, before those of a first forward call, as in torch. */
const initialIterations = 15;

/**
 * Divides a parameter by its largest singular value, which bounds how much a layer amplifies its input
 * (torch.nn.utils.parametrizations.spectral_norm; Miyato et al., 2018). The value is found by power iteration: each forward call
 * in training continues it in the buffers `_u` and `_v`, once, when its graph first runs. The state dict has torch's keys,
 * such as `parametrizations.weight.original` and `parametrizations.weight.0._u`. Create the optimizer afterwards.
 *
 * @returns the module
 * @throws ArgumentError if the module has no such parameter; ShapeError if the parameter has no such dimension
 */
export function spectralNorm<M extends Module>(
  ...given: Call<
    [module: M, options?: SpectralNormOptions | undefined],
    'nn.utils.parametrizations.spectralNorm'
  >
): M {
  const [module, options] = arranged('nn.utils.parametrizations.spectralNorm', given);
  const { name = 'weight', nPowerIterations = 1, eps = 1e-12 } = options;
  const { dim = module instanceof ConvTranspose ? 1 : 0 } = options;
  requirePositiveInteger('spectralNorm', { nPowerIterations });
  requirePositive('spectralNorm', { eps });
  parametrize('spectralNorm', module, name, (parameter) => {
    const rank = parameter.shape.length;
    if (!Number.isInteger(dim) || dim < -rank || dim >= rank) {
      throw new ShapeError(`spectralNorm: expected a dimension of ${describeType(parameter)}, got ${dim}.`);
    }
    return [
      new SpectralNorm(parameter, { dim: dim < 0 ? dim + rank : dim, nPowerIterations, eps }),
      parameter,
    ];
  });
  return module;
}

type Settings = Required<Omit<SpectralNormOptions, 'name'>>;

class SpectralNorm extends Parametrization {
  /** Left singular vector; undefined for a vector. */
  readonly _u: BufferTensor | undefined;
  /** Right singular vector; undefined for a vector. */
  readonly _v: BufferTensor | undefined;
  readonly #settings: Settings;

  constructor(parameter: Parameter, settings: Settings) {
    super();
    this.#settings = settings;
    if (parameter.shape.length < 2) return;
    const matrix = this.#matrixOf(parameter);
    const [u, v] = matrix.shape.map((length) => {
      const vector = new Float32Array(length);
      defaultGenerator.fillNormal(vector, 0, 1);
      return normalize(new BufferTensor(vector), { dim: 0, eps: settings.eps });
    });
    const [left, right] = noGrad(() =>
      this.#iterate(matrix, [u, v], initialIterations + settings.nPowerIterations),
    );
    this._u = new BufferTensor(left.arraySync() as Float32Array);
    this._v = new BufferTensor(right.arraySync() as Float32Array);
  }

  forward(original: Tensor): Tensor {
    const { _u: u, _v: v } = this;
    const { eps, nPowerIterations } = this.#settings;
    if (u === undefined || v === undefined) return normalize(original, { dim: 0, eps });
    const matrix = this.#matrixOf(original);
    if (!this.training) return original.div(u.dot(matrix.mv(v)));
    const fixed = matrix.detach();
    const after = this.#iterate(fixed, [u, v], nPowerIterations);
    const [left, right] = after;
    const sigma = left.detach().dot(matrix.mv(right.detach()));
    assignWhenRun(sigma.value, (read) => {
      const before = [u, v].map((buffer) => new Tensor(read(buffer)));
      const isFirst = before.every(({ value }, i) => value === [u, v][i].value);
      const [newU, newV] = isFirst ? after : this.#iterate(fixed, [before[0], before[1]], nPowerIterations);
      return [
        [u, newU.value],
        [v, newV.value],
      ];
    });
    return original.div(sigma);
  }

  #iterate(
    matrix: Tensor,
    [u, v]: readonly [u: Tensor, v: Tensor],
    count: number,
  ): readonly [u: Tensor, v: Tensor] {
    const { eps } = this.#settings;
    let [left, right] = [u, v];
    for (let i = 0; i < count; i += 1) {
      left = normalize(matrix.mv(right), { dim: 0, eps });
      right = normalize(matrix.t().mv(left), { dim: 0, eps });
    }
    return [left, right];
  }

  /** [outputs, everything else] */
  #matrixOf(weight: Tensor): Tensor {
    return weight.movedim(this.#settings.dim, 0).flatten(1);
  }
}
