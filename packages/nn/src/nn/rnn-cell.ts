import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { cast } from '../ops/elementwise.ts';
import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { recurrentLayer } from '../functional/recurrence.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import type { RecurrentCell } from '../graph/attributes.ts';
import { uniformByFanIn } from '../init/uniform.ts';
import { gatesOf } from '../ops/own/recurrence.ts';
import { expand, reshape } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import type { Parameter } from '../tensor/parameter.ts';
import { requireBoolean } from '../checks/require-boolean.ts';
import { Tensor } from '../tensor/tensor.ts';
import { spellAsTorch } from './attributes.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';
import { requireNonlinearity } from './rnn.ts';

/** Options of {@link LSTMCell} and {@link GRUCell}. */
export interface RecurrentCellOptions {
  /** If true, gates have biases. Default: true. */
  bias?: boolean;
}

/** One step of a recurrent network (torch.nn.RNNCellBase). For sequences, RNN, LSTM and GRU are faster. */
export abstract class RecurrentStep extends Module {
  /** [gates·hiddenSize, inputSize] */
  readonly weightIh: Parameter;
  /** [gates·hiddenSize, hiddenSize] */
  readonly weightHh: Parameter;
  /** [gates·hiddenSize] */
  readonly biasIh: Parameter | undefined;
  /** [gates·hiddenSize] */
  readonly biasHh: Parameter | undefined;
  readonly #cell: RecurrentCell;

  static {
    spellAsTorch(this.prototype, ['weightIh', 'weightHh', 'biasIh', 'biasHh']);
  }

  /** @internal */
  protected constructor(cell: RecurrentCell, inputSize: number, hiddenSize: number, bias = true) {
    super();
    requirePositiveInteger(this.constructor.name, { inputSize, hiddenSize });
    requireBoolean(`${this.constructor.name}: bias`, bias);
    this.#cell = cell;
    const size = gatesOf[cell] * hiddenSize;
    this.weightIh = uniformByFanIn([size, inputSize], hiddenSize);
    this.weightHh = uniformByFanIn([size, hiddenSize], hiddenSize);
    this.biasIh = bias ? uniformByFanIn([size], hiddenSize) : undefined;
    this.biasHh = bias ? uniformByFanIn([size], hiddenSize) : undefined;
  }

  /**
   * Computes the next state, and the next cell state for lstm.
   *
   * @param states the state, and the cell state for lstm; undefined: zeros
   * @internal
   */
  protected step(input: Tensor, states: readonly (Tensor | undefined)[]): Tensor[] {
    const leading = input.shape.slice(0, -1);
    const [, inputSize] = this.weightIh.shape;
    if (!isFloat(input) || leading.length > 1 || input.shape.at(-1) !== inputSize) {
      throw new ShapeError(
        `${this.constructor.name}: expected float32[N,${inputSize}] or float32[${inputSize}], got ${describeType(input)}.`,
      );
    }
    const rows = leading[0] ?? 1;
    const [state, cellState] = states.map((one) => this.#stateOf(one, input, leading, rows));
    const sequence = reshape(input.value, [1, rows, inputSize]);
    const weights = {
      weightIh: this.weightIh.value,
      weightHh: this.weightHh.value,
      biasIh: this.biasIh?.value,
      biasHh: this.biasHh?.value,
    };
    const { last, lastCell } = recurrentLayer(
      this.#cell,
      false,
      sequence,
      weights,
      { state, cellState },
      this.#cell === 'lstm' || this.#cell === 'gru' ? 'recurrentProducts' : 'RNN',
    );
    return [last, lastCell]
      .filter((one) => one !== undefined)
      .map((one) => new Tensor(reshape(one, [...leading, one.shape[1]])));
  }

  #stateOf(state: Tensor | undefined, input: Tensor, leading: readonly number[], rows: number): Value {
    const [, size] = this.weightHh.shape;
    if (state === undefined) return cast(expand(constant(0), [rows, size]), input.dtype);
    const expected = [...leading, size];
    if (!isFloat(state) || state.shape.join() !== expected.join()) {
      throw new ShapeError(
        `${this.constructor.name}: expected a state float32[${expected.join()}], got ${describeType(state)}.`,
      );
    }
    return reshape(state.value, [rows, size]);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([this.weightIh.shape[1], this.weightHh.shape[1]], {
      bias: this.biasIh === undefined ? false : undefined,
      nonlinearity: this.#cell === 'relu' ? 'relu' : undefined,
    });
  }
}

/** Options of {@link RNNCell}. */
export interface RNNCellOptions extends RecurrentCellOptions {
  /** The nonlinearity. Default: 'tanh'. */
  nonlinearity?: 'tanh' | 'relu';
}

/** One step of {@link RNN} (torch.nn.RNNCell). */
export class RNNCell extends RecurrentStep {
  constructor(
    ...given: Call<
      [inputSize: number, hiddenSize: number, options?: RNNCellOptions | undefined],
      'nn.RNNCell'
    >
  ) {
    const [inputSize, hiddenSize, options] = arranged('nn.RNNCell', given);
    const { nonlinearity = 'tanh', bias } = options;
    super(requireNonlinearity('RNNCell', nonlinearity), inputSize, hiddenSize, bias);
  }

  /**
   * Returns the next state, [N, hiddenSize] or [hiddenSize].
   *
   * @param input [N, inputSize] or [inputSize]
   * @param hx the state, [N, hiddenSize] or [hiddenSize]. Default: zeros.
   */
  forward(input: Tensor, hx?: Tensor): Tensor {
    return this.step(input, [hx])[0];
  }
}

/** One step of {@link GRU} (torch.nn.GRUCell). */
export class GRUCell extends RecurrentStep {
  constructor(
    ...given: Call<
      [inputSize: number, hiddenSize: number, options?: RecurrentCellOptions | undefined],
      'nn.GRUCell'
    >
  ) {
    const [inputSize, hiddenSize, options] = arranged('nn.GRUCell', given);
    super('gru', inputSize, hiddenSize, options.bias);
  }

  /** See `forward` of {@link RNNCell}. */
  forward(input: Tensor, hx?: Tensor): Tensor {
    return this.step(input, [hx])[0];
  }
}

/** One step of {@link LSTM} (torch.nn.LSTMCell). */
export class LSTMCell extends RecurrentStep {
  constructor(
    ...given: Call<
      [inputSize: number, hiddenSize: number, options?: RecurrentCellOptions | undefined],
      'nn.LSTMCell'
    >
  ) {
    const [inputSize, hiddenSize, options] = arranged('nn.LSTMCell', given);
    super('lstm', inputSize, hiddenSize, options.bias);
  }

  /**
   * Returns the next state and the next cell state.
   *
   * @param input see {@link RNNCell}
   * @param hx state and cell state, each like `hx` of {@link RNNCell}. Default: zeros.
   */
  forward(input: Tensor, hx?: readonly [h0: Tensor, c0: Tensor]): [h1: Tensor, c1: Tensor] {
    const [state, cell] = this.step(input, hx ?? [undefined, undefined]);
    return [state, cell];
  }
}
