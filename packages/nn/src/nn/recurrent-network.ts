import { cast } from '../ops/elementwise.ts';
import { isFloat } from '../dtype.ts';
import { dropout, requireProbability } from '../functional/dropout.ts';
import { recurrentLayer, type RecurrentWeights } from '../functional/recurrence.ts';
import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import type { RecurrentCell } from '../graph/attributes.ts';
import { uniformByFanIn } from '../init/uniform.ts';
import { gatesOf } from '../ops/own/recurrence.ts';
import { concat, expand, reshape, slice } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import type { Parameter } from '../tensor/parameter.ts';
import { requireBoolean } from '../checks/require-boolean.ts';
import { Tensor } from '../tensor/tensor.ts';
import { spellAsTorch } from './attributes.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';
import { lengthsOf, PackedSequence } from './utils/rnn.ts';

/** Options of {@link LSTM} and {@link GRU}. */
export interface RecurrentOptions {
  /** Number of stacked layers, each reading the states of the previous one. Default: 1. */
  numLayers?: number;
  /** If true, gates have biases. Default: true. */
  bias?: boolean;
  /** If true, input and output are [N, L, size], else [L, N, size]. States are [·, N, size] either way. Default: false. */
  batchFirst?: boolean;
  /** Probability of dropping an element of the output of each layer except the last, in training. Default: 0. */
  dropout?: number;
  /**
   * If true, each layer also processes the sequence in reverse; the outputs of both directions are concatenated. Default:
   * false.
   */
  bidirectional?: boolean;
}

/** The names of networks in the lists of `autocast`. */
const autocastNames = { tanh: 'RNN', relu: 'RNN', lstm: 'LSTM', gru: 'recurrentProducts' } as const;

/** The kinds of parameters of a layer, in torch's order. */
const kinds = ['weightIh', 'weightHh', 'biasIh', 'biasHh'] as const;

/**
 * Layers of a recurrent network, in one direction or both (torch.nn.RNNBase). Parameters are initialized uniformly in
 * ±1/√hiddenSize.
 */
export abstract class RecurrentNetwork extends Module {
  /** Weights of a layer, [gates·hiddenSize, size of its input]: `weightIhL0`, `weightIhL0Reverse`, `weightIhL1`, … */
  readonly [weightIh: `weightIhL${string}`]: Parameter;
  /** Recurrent weights of a layer, [gates·hiddenSize, hiddenSize]: `weightHhL0`, … */
  readonly [weightHh: `weightHhL${string}`]: Parameter;
  /** Biases of a layer, [gates·hiddenSize], absent with `bias: false`: `biasIhL0`, … */
  readonly [biasIh: `biasIhL${string}`]: Parameter;
  /** Recurrent biases of a layer, [gates·hiddenSize], absent with `bias: false`: `biasHhL0`, … */
  readonly [biasHh: `biasHhL${string}`]: Parameter;
  readonly #cell: RecurrentCell;
  readonly #sizes: { readonly input: number; readonly hidden: number };
  readonly #options: Required<RecurrentOptions>;

  /** @internal */
  protected constructor(
    cell: RecurrentCell,
    inputSize: number,
    hiddenSize: number,
    options: RecurrentOptions,
  ) {
    super();
    const name = this.constructor.name;
    this.#options = {
      numLayers: 1,
      bias: true,
      batchFirst: false,
      dropout: 0,
      bidirectional: false,
      ...options,
    };
    const { numLayers, bias, batchFirst, bidirectional, dropout: p } = this.#options;
    requirePositiveInteger(name, { inputSize, hiddenSize, numLayers });
    requireProbability(name, p);
    for (const [option, value] of Object.entries({ bias, batchFirst, bidirectional })) {
      requireBoolean(`${name}: ${option}`, value);
    }
    this.#cell = cell;
    this.#sizes = { input: inputSize, hidden: hiddenSize };
    const size = gatesOf[cell] * hiddenSize;
    for (const { layer, suffix } of this.#directions()) {
      const inner = layer === 0 ? inputSize : hiddenSize * this.#ways;
      const shapes = [[size, inner], [size, hiddenSize], ...(bias ? [[size], [size]] : [])];
      for (const [index, shape] of shapes.entries()) {
        const property = `${kinds[index]}${suffix}` as const;
        Object.assign(this, { [property]: uniformByFanIn(shape, hiddenSize) });
        spellAsTorch<RecurrentNetwork>(this, [property]);
      }
    }
  }

  /**
   * Runs all layers.
   *
   * @param states the first states, and the first cells for lstm, each [layers·directions, N, hidden]; undefined: zeros
   * @internal
   */
  protected run<Input extends Tensor | PackedSequence>(
    given: Input,
    states: readonly (Tensor | undefined)[],
  ): { output: Input; last: Tensor[] } {
    const packed = given instanceof PackedSequence ? given : undefined;
    const input = packed?.padded ?? (given as Tensor);
    const isBatch = input.shape.length === 3;
    this.#requireInput(input);
    const swaps = isBatch && !packed && this.#options.batchFirst;
    const sequence = isBatch ? (swaps ? input.transpose(0, 1) : input) : input.unsqueeze(1);
    const first = states.map((state, index) => this.#firstState(state, sequence, isBatch, index));
    const lengths = packed && lengthsOf(packed).value;
    const { output, last } = this.#layers(sequence, first, lengths);
    const batched = last.map((parts) => new Tensor(concat(parts, 0)));
    if (packed) {
      return { output: new PackedSequence(output, packed.lengths, true) as Input, last: batched };
    }
    const inOrder = isBatch ? (swaps ? output.transpose(0, 1) : output) : output.squeeze(1);
    return { output: inOrder as Input, last: isBatch ? batched : batched.map((one) => one.squeeze(1)) };
  }

  /** @returns the output [L, N, directions·hidden], and the last states (and cells) of each layer and direction, [1, N, hidden] */
  #layers(
    sequence: Tensor,
    first: readonly Value[],
    lengths: Value | undefined,
  ): { output: Tensor; last: Value[][] } {
    const { numLayers, dropout: p } = this.#options;
    const last = first.map((): Value[] => []);
    let output = sequence;
    for (let layer = 0; layer < numLayers; layer += 1) {
      const parts = [...this.#directions()]
        .filter((one) => one.layer === layer)
        .map(({ index, suffix, reverse }) => {
          const [state, cellState] = first.map((one) =>
            reshape(slice(one, 0, index, index + 1), one.shape.slice(1)),
          );
          const results = recurrentLayer(
            this.#cell,
            reverse,
            output.value,
            this.#weights(suffix),
            {
              state,
              cellState,
              lengths,
            },
            autocastNames[this.#cell],
          );
          for (const [kind, list] of last.entries()) {
            const value = kind === 0 ? results.last : results.lastCell!;
            list.push(reshape(value, [1, ...value.shape]));
          }
          return results.states;
        });
      output = new Tensor(concat(parts, 2));
      if (layer < numLayers - 1) output = dropout(output, p, { training: this.training });
    }
    return { output, last };
  }

  get #ways(): number {
    return this.#options.bidirectional ? 2 : 1;
  }

  /** The directions of all layers, in torch's order. */
  *#directions(): Generator<{ index: number; layer: number; reverse: boolean; suffix: `L${string}` }> {
    const count = this.#options.numLayers * this.#ways;
    for (let index = 0; index < count; index += 1) {
      const layer = Math.floor(index / this.#ways);
      const reverse = index % this.#ways === 1;
      yield { index, layer, reverse, suffix: `L${layer}${reverse ? 'Reverse' : ''}` };
    }
  }

  #weights(suffix: string): RecurrentWeights<Value> {
    const properties = this as unknown as Readonly<Record<string, Parameter | undefined>>;
    const [weightIh, weightHh, biasIh, biasHh] = kinds.map((kind) => properties[`${kind}${suffix}`]?.value);
    return { weightIh: weightIh!, weightHh: weightHh!, biasIh, biasHh };
  }

  #firstState(state: Tensor | undefined, input: Tensor, isBatch: boolean, index: number): Value {
    const count = this.#options.numLayers * this.#ways;
    const shape = [count, input.shape[1], this.#sizes.hidden];
    if (state === undefined) return cast(expand(constant(0), shape), input.dtype);
    const expected = isBatch ? shape : shape.toSpliced(1, 1);
    if (!isFloat(state) || state.shape.join() !== expected.join()) {
      throw new ShapeError(
        `${this.constructor.name}: expected ${index === 0 ? 'a first state' : 'first cells'} float32[${expected.join()}], got ${describeType(state)}.`,
      );
    }
    return reshape(state.value, shape);
  }

  #requireInput(input: Tensor): void {
    const { length } = input.shape;
    const fits = (length === 2 || length === 3) && input.shape.at(-1) === this.#sizes.input;
    const steps = input.shape[length === 3 && this.#options.batchFirst ? 1 : 0];
    if (isFloat(input) && fits && steps > 0) return;
    const order = this.#options.batchFirst ? 'N,L' : 'L,N';
    throw new ShapeError(
      `${this.constructor.name}: expected float32[${order},${this.#sizes.input}] or float32[L,${this.#sizes.input}] with at least one step, got ${describeType(input)}.`,
    );
  }

  /** @internal */
  override extraRepr(): string {
    const { numLayers, bias, batchFirst, dropout: p, bidirectional } = this.#options;
    return writeArguments([this.#sizes.input, this.#sizes.hidden], {
      num_layers: numLayers === 1 ? undefined : numLayers,
      bias: bias ? undefined : false,
      batch_first: batchFirst || undefined,
      dropout: p === 0 ? undefined : p,
      bidirectional: bidirectional || undefined,
    });
  }
}
