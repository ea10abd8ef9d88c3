import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { mul, requireFloat } from '../ops/elementwise.ts';
import { leakyRelu as leakyReluOf, sigmoid as sigmoidOf } from '../ops/functions.ts';
import { gelu as geluOf } from '../ops/own/gelu.ts';
import { Tensor } from '../tensor/tensor.ts';
import { requireOneOf } from '../checks/require-one-of.ts';

/** max(x, 0), elementwise (torch.nn.functional.relu). */
export function relu(...given: Call<[input: Tensor], 'F.relu'>): Tensor {
  const [input] = arranged('F.relu', given);
  return input.relu();
}

/** x if x > 0, else negativeSlope·x (torch.nn.functional.leaky_relu). */
export function leakyRelu(
  ...given: Call<[input: Tensor, negativeSlope?: number | undefined], 'F.leakyRelu'>
): Tensor {
  const [input, negativeSlope = 0.01] = arranged('F.leakyRelu', given);
  return new Tensor(leakyReluOf(input.value, negativeSlope));
}

/** Options of {@link gelu} and of `nn.GELU`. */
export interface GELUOptions {
  /** 'none': x·Φ(x) by the error function. 'tanh': an approximation by the hyperbolic tangent. Default: 'none'. */
  approximate?: 'none' | 'tanh';
}

/** x·Φ(x), Φ the standard normal distribution (torch.nn.functional.gelu; Hendrycks and Gimpel, 2016). */
export function gelu(...given: Call<[input: Tensor, options?: GELUOptions | undefined], 'F.gelu'>): Tensor {
  const [input, options] = arranged('F.gelu', given);
  const { approximate = 'none' } = options;
  requireOneOf('gelu', 'approximate', approximate, ['none', 'tanh']);
  return new Tensor(geluOf(input.value, approximate));
}

/** x·sigmoid(x), also called swish (torch.nn.functional.silu). */
export function silu(...given: Call<[input: Tensor], 'F.silu'>): Tensor {
  const [input] = arranged('F.silu', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => silu(x));
  const { value: x } = input;
  requireFloat('silu', x);
  return new Tensor(mul(x, sigmoidOf(x)));
}

/** The first half along `dim` times the sigmoid of the second half (torch.nn.functional.glu; Dauphin and others, 2017). */
export function glu(...given: Call<[input: Tensor, dim?: number | undefined], 'F.glu'>): Tensor {
  const [input, dim = -1] = arranged('F.glu', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => glu(x, dim));
  requireFloat('glu', input.value);
  const [values, gates] = input.split((input.shape.at(dim) ?? 0) / 2, dim);
  return values.mul(gates.sigmoid());
}

/** 1 / (1 + exp(−x)) (torch.nn.functional.sigmoid). */
export function sigmoid(...given: Call<[input: Tensor], 'F.sigmoid'>): Tensor {
  const [input] = arranged('F.sigmoid', given);
  return input.sigmoid();
}

/** Hyperbolic tangent (torch.nn.functional.tanh). */
export function tanh(...given: Call<[input: Tensor], 'F.tanh'>): Tensor {
  const [input] = arranged('F.tanh', given);
  return input.tanh();
}

/** exp x / Σ exp x along `dim` (torch.nn.functional.softmax). */
export function softmax(...given: Call<[input: Tensor, dim: number], 'F.softmax'>): Tensor {
  const [input, dim] = arranged('F.softmax', given);
  return input.softmax(dim);
}

/** exp(−x) / Σ exp(−x) along `dim` (torch.nn.functional.softmin). */
export function softmin(...given: Call<[input: Tensor, dim: number], 'F.softmin'>): Tensor {
  const [input, dim] = arranged('F.softmin', given);
  return input.neg().softmax(dim);
}

/** x − log Σ exp x along `dim` (torch.nn.functional.log_softmax). */
export function logSoftmax(...given: Call<[input: Tensor, dim: number], 'F.logSoftmax'>): Tensor {
  const [input, dim] = arranged('F.logSoftmax', given);
  return input.logSoftmax(dim);
}
