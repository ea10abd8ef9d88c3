import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { mul, requireFloat } from '../ops/elementwise.ts';
import { leakyRelu as leakyReluOf, sigmoid as sigmoidOf } from '../ops/functions.ts';
import { gelu as geluOf } from '../ops/own/gelu.ts';
import { Tensor } from '../tensor/tensor.ts';
import { requireOneOf } from '../checks/require-one-of.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';

/** max(x, 0), elementwise (torch.nn.functional.relu). */
export function relu(input: Tensor): Tensor {
  return input.relu();
}

/** x if x > 0, else negativeSlope·x (torch.nn.functional.leaky_relu). */
export function leakyRelu(input: Tensor, negativeSlope = 0.01): Tensor {
  return new Tensor(leakyReluOf(input.value, negativeSlope));
}

/** Options of {@link gelu} and of `nn.GELU`. */
export interface GELUOptions {
  /** 'none': x·Φ(x) by the error function. 'tanh': an approximation by the hyperbolic tangent. Default: 'none'. */
  approximate?: 'none' | 'tanh';
}

export const geluOptions: OptionNames<GELUOptions> = { approximate: true };

/** x·Φ(x), Φ the standard normal distribution (torch.nn.functional.gelu; Hendrycks and Gimpel, 2016). */
export function gelu(input: Tensor, options: GELUOptions = {}): Tensor {
  requireOptions('gelu', options, geluOptions);
  const { approximate = 'none' } = options;
  requireOneOf('gelu', 'approximate', approximate, ['none', 'tanh']);
  return new Tensor(geluOf(input.value, approximate));
}

/** x·sigmoid(x), also called swish (torch.nn.functional.silu). */
export function silu(input: Tensor): Tensor {
  if (isNarrow(input)) return roundedOnce([input], silu);
  const { value: x } = input;
  requireFloat('silu', x);
  return new Tensor(mul(x, sigmoidOf(x)));
}

/** The first half along `dim` times the sigmoid of the second half (torch.nn.functional.glu; Dauphin and others, 2017). */
export function glu(input: Tensor, dim = -1): Tensor {
  if (isNarrow(input)) return roundedOnce([input], (x) => glu(x, dim));
  requireFloat('glu', input.value);
  const [values, gates] = input.split((input.shape.at(dim) ?? 0) / 2, dim);
  return values.mul(gates.sigmoid());
}

/** 1 / (1 + exp(−x)) (torch.nn.functional.sigmoid). */
export function sigmoid(input: Tensor): Tensor {
  return input.sigmoid();
}

/** Hyperbolic tangent (torch.nn.functional.tanh). */
export function tanh(input: Tensor): Tensor {
  return input.tanh();
}

/** exp x / Σ exp x along `dim` (torch.nn.functional.softmax). */
export function softmax(input: Tensor, dim: number): Tensor {
  return input.softmax(dim);
}

/** exp(−x) / Σ exp(−x) along `dim` (torch.nn.functional.softmin). */
export function softmin(input: Tensor, dim: number): Tensor {
  return input.neg().softmax(dim);
}

/** x − log Σ exp x along `dim` (torch.nn.functional.log_softmax). */
export function logSoftmax(input: Tensor, dim: number): Tensor {
  return input.logSoftmax(dim);
}
