import { CustomFunction, type FunctionContext } from '../autograd/function.ts';
import { where } from '../tensor/combine.ts';
import type { Tensor } from '../tensor/tensor.ts';

// Functions of torch.special that densities need, made of other operations, so that they run and have gradients everywhere.

/** Where Stirling's series begins: smaller numbers are moved up by this many steps of the recurrence. */
const shift = 6;
const halfLogOf2Pi = 0.5 * Math.log(2 * Math.PI);

/** A positive number as one from `shift` on, and the smaller numbers, with 1 in place of others. */
function moved(x: Tensor): readonly [z: Tensor, isSmall: Tensor, small: Tensor] {
  const isSmall = x.lt(shift);
  return [where(isSmall, x.add(shift), x), isSmall, where(isSmall, x, 1)];
}

/** What Stirling's formula for log Γ(z), and for the logarithm of z!, lacks: 1/(12z) − 1/(360z³) + 1/(1260z⁵). */
export function stirlingCorrection(z: Tensor): Tensor {
  const inverse = z.reciprocal();
  const square = inverse.square();
  return square
    .mul(1 / 1260)
    .sub(1 / 360)
    .mul(square)
    .add(1 / 12)
    .mul(inverse);
}

/**
 * log Γ(x) of numbers above 0 (torch.lgamma), by Stirling's series. Errors are below 2e-6, relative to the larger of the result
 * and 1.
 */
export function lgamma(x: Tensor): Tensor {
  const [z, isSmall, small] = moved(x);
  const series = z.sub(0.5).mul(z.log()).sub(z).add(halfLogOf2Pi).add(stirlingCorrection(z));
  let product = small;
  for (let i = 1; i < shift; i += 1) product = product.mul(small.add(i));
  return series.sub(where(isSmall, product.log(), 0));
}

/** The derivative of log Γ(x) at numbers above 0 (torch.digamma). */
export function digamma(x: Tensor): Tensor {
  const [z, isSmall, small] = moved(x);
  const inverse = z.reciprocal();
  const square = inverse.square();
  const correction = square
    .mul(1 / 252)
    .sub(1 / 120)
    .mul(square)
    .add(1 / 12)
    .mul(square);
  const series = z.log().sub(inverse.mul(0.5)).sub(correction);
  let sum = small.reciprocal();
  for (let i = 1; i < shift; i += 1) sum = sum.add(small.add(i).reciprocal());
  return series.sub(where(isSmall, sum, 0));
}

/** Coefficients of M. Giles, "Approximating the erfinv function", in single precision; the highest power first. */
const central = [
  2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 2.1858087e-4, -1.25372503e-3, -4.17768164e-3,
  0.246640727, 1.50140941,
];
const tail = [
  -2.00214257e-4, 1.00950558e-4, 1.34934322e-3, -3.67342844e-3, 5.73950773e-3, -7.6224613e-3, 9.43887047e-3,
  1.00167406, 2.83297682,
];

const polynomial = (x: Tensor, [first, second, ...rest]: readonly number[]) =>
  rest.reduce((sum, coefficient) => sum.mul(x).add(coefficient), x.mul(first).add(second));

/** The gradient is that of the exact function, which the approximation's is not. */
class InverseErrorFunction extends CustomFunction {
  static forward(context: FunctionContext, x: Tensor): Tensor {
    const w = x.neg().log1p().add(x.log1p()).neg();
    const near = polynomial(w.sub(2.5), central);
    const far = polynomial(w.clamp(5).sqrt().sub(3), tail);
    const isEnd = x.abs().eq(1);
    const result = where(isEnd, x.mul(Infinity), x.mul(where(w.lt(5), near, far)));
    context.saveForBackward(result);
    return result;
  }

  static backward({ savedTensors: [y] }: FunctionContext, gradient: Tensor): Tensor {
    return gradient.mul(
      y
        .square()
        .exp()
        .mul(Math.sqrt(Math.PI) / 2),
    );
  }
}

/** The inverse of the error function (torch.erfinv), −∞ and ∞ at −1 and 1. */
export function erfinv(x: Tensor): Tensor {
  return InverseErrorFunction.apply(x);
}

/** The negative of `digamma(1)`. */
export const eulerGamma = 0.5772156649015329;
