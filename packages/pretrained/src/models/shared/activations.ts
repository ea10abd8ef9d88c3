import { InvalidArgumentError } from '@ringrun/core';
import { F, type Tensor } from '@ringrun/nn';

/** An activation function: the shape is kept. */
export type Activation = (input: Tensor) => Tensor;

const tanhGelu: Activation = (input) => F.gelu(input, { approximate: 'tanh' });

/** By the names of transformers (transformers.activations.ACT2FN). */
const activations: Readonly<Record<string, Activation>> = {
  gelu: (input) => F.gelu(input),
  gelu_fast: tanhGelu,
  gelu_new: tanhGelu,
  gelu_pytorch_tanh: tanhGelu,
  relu: (input) => F.relu(input),
  relu6: (input) => F.relu6(input),
  sigmoid: (input) => F.sigmoid(input),
  silu: (input) => F.silu(input),
  swish: (input) => F.silu(input),
  tanh: (input) => F.tanh(input),
};

/** @throws InvalidArgumentError for an unknown name */
export function activationOf(name: string): Activation {
  if (Object.hasOwn(activations, name)) return activations[name];
  throw new InvalidArgumentError(
    `config: expected an activation of ${Object.keys(activations).join(', ')}, got ${JSON.stringify(name)}.`,
  );
}
