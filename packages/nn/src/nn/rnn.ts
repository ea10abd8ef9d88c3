import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { requireOneOf } from '../checks/require-one-of.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { RecurrentNetwork, type RecurrentOptions } from './recurrent-network.ts';
import type { PackedSequence } from './utils/rnn.ts';

/** Options of {@link RNN}. */
export interface RNNOptions extends RecurrentOptions {
  /** The nonlinearity. Default: 'tanh'. */
  nonlinearity?: 'tanh' | 'relu';
}

/**
 * A recurrent network of h = act(x·Wᵢₕᵀ + bᵢₕ + h₋₁·Wₕₕᵀ + bₕₕ) (torch.nn.RNN; Elman, 1990). Parameters have torch's names
 * in camelCase, such as `weightIhL0` and `biasHhL1Reverse`, and are initialized uniformly in ±1/√hiddenSize.
 */
export class RNN extends RecurrentNetwork {
  constructor(
    ...given: Call<[inputSize: number, hiddenSize: number, options?: RNNOptions | undefined], 'nn.RNN'>
  ) {
    const [inputSize, hiddenSize, options] = arranged('nn.RNN', given);
    const { nonlinearity = 'tanh', ...others } = options;
    super(requireNonlinearity('RNN', nonlinearity), inputSize, hiddenSize, others);
  }

  /**
   * Returns the states of the last layer, with its D directions concatenated, and the last states of all layers, `hN`.
   *
   * @param input [L, N, inputSize], [N, L, inputSize] with `batchFirst`, [L, inputSize] for one sequence, or a packed sequence
   * @param hx the first states, [numLayers·D, N, hiddenSize], without N for one sequence. Default: zeros.
   * @returns output [L, N, D·hiddenSize], in the layout of the input, and hN of the shape of hx
   */
  forward<Input extends Tensor | PackedSequence>(input: Input, hx?: Tensor): [output: Input, hN: Tensor] {
    const { output, last } = this.run(input, [hx]);
    return [output, last[0]];
  }
}

/**
 * A network with gated recurrent units (torch.nn.GRU; Cho and others, 2014): with gates in the order r, z, n,
 * h = (1 − z)·n + z·h₋₁. Parameters: see {@link RNN}.
 */
export class GRU extends RecurrentNetwork {
  constructor(
    ...given: Call<[inputSize: number, hiddenSize: number, options?: RecurrentOptions | undefined], 'nn.GRU'>
  ) {
    const [inputSize, hiddenSize, options] = arranged('nn.GRU', given);
    super('gru', inputSize, hiddenSize, options);
  }

  /** See `forward` of {@link RNN}. */
  forward<Input extends Tensor | PackedSequence>(input: Input, hx?: Tensor): [output: Input, hN: Tensor] {
    const { output, last } = this.run(input, [hx]);
    return [output, last[0]];
  }
}

/**
 * A network with long short-term memory (torch.nn.LSTM; Hochreiter and Schmidhuber, 1997): with gates in the order
 * i, f, g, o, c = f·c₋₁ + i·g and h = o·tanh(c). Parameters: see {@link RNN}.
 */
export class LSTM extends RecurrentNetwork {
  constructor(
    ...given: Call<[inputSize: number, hiddenSize: number, options?: RecurrentOptions | undefined], 'nn.LSTM'>
  ) {
    const [inputSize, hiddenSize, options] = arranged('nn.LSTM', given);
    super('lstm', inputSize, hiddenSize, options);
  }

  /**
   * Returns the states of the last layer, and the last states and cell states of all layers.
   *
   * @param input see {@link RNN}
   * @param hx the first states and first cell states, each like `hx` of {@link RNN}. Default: zeros.
   */
  forward<Input extends Tensor | PackedSequence>(
    input: Input,
    hx?: readonly [h0: Tensor, c0: Tensor],
  ): [output: Input, hx: [hN: Tensor, cN: Tensor]] {
    const { output, last } = this.run(input, hx ?? [undefined, undefined]);
    return [output, [last[0], last[1]]];
  }
}

/** The nonlinearity of RNN and RNNCell. */
export function requireNonlinearity(name: string, given: 'tanh' | 'relu'): 'tanh' | 'relu' {
  requireOneOf(name, 'nonlinearity', given, ['tanh', 'relu']);
  return given;
}
