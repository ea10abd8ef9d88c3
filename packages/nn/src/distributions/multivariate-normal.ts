import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { broadcastShape } from '../ops/broadcast.ts';
import { randn } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { describeType } from '../value-type.ts';
import { real, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { asFloatTensor, type DistributionOptions, type DistributionParameter } from './parameters.ts';
import { cholesky, inverseOfTriangular } from './triangular.ts';

/**
 * Normal distribution of vectors [..., N] (torch.distributions.MultivariateNormal). It computes with `scaleTril`, the lower triangular
 * Cholesky factor L of the covariance L·Lᵀ, and is fastest if that is given: of a covariance or precision, it is computed column by
 * column, in operations whose number grows with N. After `manualSeed`, samples equal torch's on the CPU up to rounding.
 */
export class MultivariateNormal extends Distribution {
  /** Mean, [..., N]. */
  readonly loc: Tensor;
  /** Lower triangular factor of the covariance, [..., N, N], with numbers above 0 on the diagonal. */
  readonly scaleTril: Tensor;
  #inverse: Tensor | undefined;

  /**
   * The mean and one of covariance, its inverse and its factor. That they are positive definite is not checked: NaN follows.
   *
   * @throws ArgumentError unless exactly one is given; ShapeError unless it is [..., N, N]
   */
  constructor(
    ...given: Call<
      [
        loc: Tensor,
        covarianceMatrix?: Tensor | undefined,
        precisionMatrix?: Tensor | undefined,
        scaleTril?: Tensor | undefined,
        options?: DistributionOptions | undefined,
      ],
      'distributions.MultivariateNormal'
    >
  ) {
    const [loc, covarianceMatrix, precisionMatrix, scaleTril, options] = arranged(
      'distributions.MultivariateNormal',
      given,
    );
    const matrices = Object.entries({ covarianceMatrix, precisionMatrix, scaleTril }).filter(
      ([, matrix]) => matrix !== undefined,
    ) as [name: string, matrix: Tensor][];
    if (matrices.length !== 1) {
      throw new ArgumentError(
        `MultivariateNormal: expected one of covarianceMatrix, precisionMatrix and scaleTril, got ${matrices.length === 0 ? 'none' : matrices.map(([name]) => name).join(' and ')}. Write new distributions.MultivariateNormal(loc, { scaleTril }).`,
      );
    }
    const [[name, matrix]] = matrices;
    const size = loc.shape.at(-1);
    if (size === undefined || matrix.shape.at(-1) !== size || matrix.shape.at(-2) !== size) {
      throw new ShapeError(
        `MultivariateNormal: expected loc float32[…,N] and ${name} float32[…,N,N], got ${describeType(loc)} and ${describeType(matrix)}.`,
      );
    }
    const rows = asFloatTensor(matrix);
    const batch = broadcastShape('MultivariateNormal', loc.unsqueeze(-1).value, rows.value).slice(0, -2);
    super(batch, [size], options);
    this.loc = asFloatTensor(loc).expand(...batch, size);
    const factor = scaleTril === undefined ? factorOf(name, rows) : rows;
    this.scaleTril = factor.expand(...batch, size, size);
  }

  get support(): Constraint {
    return real;
  }

  override get hasRsample(): boolean {
    return true;
  }

  /** L·Lᵀ, [..., N, N]. */
  get covarianceMatrix(): Tensor {
    return this.scaleTril.matmul(this.scaleTril.transpose(-1, -2));
  }

  /** The inverse of the covariance, [..., N, N]. */
  get precisionMatrix(): Tensor {
    const inverse = this.inverseOfScale();
    return inverse.transpose(-1, -2).matmul(inverse);
  }

  get mean(): Tensor {
    return this.loc;
  }

  get mode(): Tensor {
    return this.loc;
  }

  get variance(): Tensor {
    return this.scaleTril.square().sum(-1);
  }

  override expand(batchShape: readonly number[]): MultivariateNormal {
    const [size] = this.eventShape;
    return new MultivariateNormal(
      this.loc.expand(...batchShape, size),
      undefined,
      undefined,
      this.scaleTril.expand(...batchShape, size, size),
      this.options,
    );
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    const normal = randn(this.extendedShape(shape));
    return this.scaleTril.matmul(normal.unsqueeze(-1)).squeeze(-1).add(this.loc);
  }

  logProb(value: DistributionParameter): Tensor {
    const distance = this.squaredDistance(this.valueOf('logProb', value));
    const [size] = this.eventShape;
    return distance
      .add(size * Math.log(2 * Math.PI))
      .mul(-0.5)
      .sub(this.halfLogDeterminant());
  }

  override entropy(): Tensor {
    const [size] = this.eventShape;
    return this.halfLogDeterminant().add(0.5 * size * (1 + Math.log(2 * Math.PI)));
  }

  /**
   * |L⁻¹·(x − loc)|², the square of the Mahalanobis distance.
   *
   * @internal
   */
  squaredDistance(x: Tensor): Tensor {
    return this.inverseOfScale().matmul(x.sub(this.loc).unsqueeze(-1)).squeeze(-1).square().sum(-1);
  }

  /**
   * log |L|, half of that of the covariance.
   *
   * @internal
   */
  halfLogDeterminant(): Tensor {
    return this.scaleTril.diagonal(0, -2, -1).log().sum(-1);
  }

  /**
   * L⁻¹
   *
   * @internal
   */
  inverseOfScale(): Tensor {
    return (this.#inverse ??= inverseOfTriangular(this.scaleTril));
  }
}

function factorOf(name: string, matrix: Tensor): Tensor {
  if (name === 'covarianceMatrix') return cholesky(matrix);
  // With the order of rows and columns reversed, P = U·Uᵀ, so that P⁻¹ = U⁻ᵀ·U⁻¹ and L = U⁻ᵀ.
  const reversed = cholesky(matrix.flip([-2, -1])).flip([-2, -1]);
  return inverseOfTriangular(reversed.transpose(-1, -2));
}
