import { CustomFunction, type FunctionContext } from '../autograd/function.ts';
import { where } from '../tensor/combine.ts';
import { rand, randn } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { noGrad } from '../tensor/no-grad.ts';
import { firstAccepted } from './first-accepted.ts';
import { digamma } from './special-functions.ts';

/** At least 19 of 20 candidates are accepted, so that none of them is with a probability below 10⁻¹⁰. */
const candidates = 8;
/** Least normal float32. */
const tiny = 2 ** -126;

/**
 * Gamma numbers with the rate 1 of computed concentrations, from random numbers that are drawn now: 17 for each. Their gradient is
 * that of the quantile at a fixed probability, as in torch (torch._standard_gamma).
 */
export function standardGamma(concentration: Tensor): Tensor {
  return StandardGamma.apply(
    concentration,
    noGrad(() => sample(concentration)),
  );
}

/** By rejection (G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables"). */
function sample(concentration: Tensor): Tensor {
  const { shape } = concentration;
  const isBelowOne = concentration.lt(1);
  const d = where(isBelowOne, concentration.add(1), concentration).sub(1 / 3);
  const x = randn([candidates, ...shape]);
  const uniform = rand([candidates, ...shape]);
  const root = x.div(d.mul(9).sqrt()).add(1);
  const isPositive = root.gt(0);
  const v = where(isPositive, root.pow(3), 1);
  const bound = x.square().mul(0.5).add(v.neg().add(1).add(v.log()).mul(d));
  const isAccepted = isPositive.logicalAnd(uniform.neg().log1p().lt(bound));
  const accepted = firstAccepted(v, isAccepted).mul(d);
  // A gamma number of a + 1 times u^(1/a) is one of a.
  const power = rand(shape).neg().log1p().div(concentration).exp();
  return where(isBelowOne, accepted.mul(power), accepted).clamp(tiny);
}

class StandardGamma extends CustomFunction {
  static forward(context: FunctionContext, concentration: Tensor, samples: Tensor): Tensor {
    context.saveForBackward(concentration, samples);
    return samples;
  }

  static backward({ savedTensors: [concentration, samples] }: FunctionContext, gradient: Tensor) {
    return [gradient.mul(standardGammaSlope(concentration, samples)), undefined];
  }
}

/** The derivative of a gamma number x by its concentration a (standard_gamma_grad of torch's aten/src/ATen/native/Distributions.h). */
export function standardGammaSlope(a: Tensor, x: Tensor): Tensor {
  const isCentral = x.ge(a.mul(0.9)).logicalAnd(x.le(a.mul(1.1)));
  const ofLarge = where(isCentral, nearMean(a, x), farFromMean(a, x));
  return where(x.lt(0.8), nearZero(a, x), where(a.gt(8), ofLarge, elsewhere(a, x)));
}

/** By the Taylor series of the cumulative distribution, for x below 0.8. */
function nearZero(a: Tensor, x: Tensor): Tensor {
  let numerator = x.mul(0).add(1);
  let [first, second] = [a.reciprocal(), a.square().reciprocal()];
  for (let i = 1; i <= 5; i += 1) {
    numerator = numerator.mul(x).div(-i);
    const denominator = a.add(i);
    first = first.add(numerator.div(denominator));
    second = second.add(numerator.div(denominator.square()));
  }
  return second
    .sub(x.log().sub(digamma(a)).mul(first))
    .mul(x)
    .mul(x.exp());
}

/** Rice's saddle point expansion for a above 8, where x is within a tenth of a. */
function nearMean(a: Tensor, x: Tensor): Tensor {
  const first = a.mul(12).add(1).mul(a).mul(24).add(1);
  const square = a.square();
  const second = square
    .mul(1440)
    .add(x.mul(-120).add(53).mul(x).mul(6))
    .sub(x.square().mul(65).div(a))
    .add(x.mul(3600).add(107).mul(a));
  return first.div(square).mul(second.div(square)).div(1244160);
}

/** Rice's saddle point expansion for a above 8 elsewhere. */
function farFromMean(a: Tensor, x: Tensor): Tensor {
  const distance = a.sub(x);
  const logRatio = x.div(a).log();
  const denominator = a.mul(8).sqrt();
  const power = x.sub(a).sub(a.mul(logRatio)).pow(-1.5);
  const sum = denominator.div(distance).add(where(x.lt(a), power.neg(), power));
  const term = logRatio.mul(sum).sub(a.reciprocal().mul(2).sqrt().mul(a.add(x)).div(distance.square()));
  const inverse = a.reciprocal();
  const stirling = inverse.div(24).add(1).mul(inverse).div(12).add(1);
  return stirling.mul(x).mul(term).div(denominator).neg();
}

/** Coefficients by powers of u = log(x / a), then of v = log(a): the numerator's, then the denominator's. */
const coefficients = [
  [0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084],
  [0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915, -0.00058392623],
  [
    0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326, 0.00085092367,
    -1.5247877e-7,
  ],
];

/** A rational approximation in two variables. */
function elsewhere(a: Tensor, x: Tensor): Tensor {
  const u = x.div(a).log();
  const v = a.log();
  const [c0, c1, c2] = coefficients;
  const ofV = c0.map((_, i) => u.mul(c2[i]).add(c1[i]).mul(u).add(c0[i]));
  const along = ([p0, p1, p2, p3]: readonly Tensor[]) => p3.mul(v).add(p2).mul(v).add(p1).mul(v).add(p0);
  return along(ofV.slice(0, 4))
    .div(along(ofV.slice(4)))
    .exp();
}
