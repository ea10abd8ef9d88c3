import { autocastValues } from '../tensor/autocast.ts';
import type { Value } from '../graph/node.ts';
import type { RecurrentCell } from '../graph/attributes.ts';
import { add } from '../ops/elementwise.ts';
import { gemm, overRows } from '../ops/linear-algebra.ts';
import { recurrence } from '../ops/own/recurrence.ts';
import type { RecurrenceInputs, RecurrenceOutputs } from '../ops/unrolled-recurrence.ts';

/** The parameters of one direction of a layer, G gates of H elements. */
export interface RecurrentWeights<T> {
  /** [G·H, input size] */
  readonly weightIh: T;
  /** [G·H, H] */
  readonly weightHh: T;
  /** [G·H] */
  readonly biasIh: T | undefined;
  /** [G·H] */
  readonly biasHh: T | undefined;
}

/** The initial state of a sequence, and its length. */
export type RecurrentState = Pick<RecurrenceInputs, 'state' | 'cellState' | 'lengths'>;

/**
 * One direction of a layer of a recurrent network. The inputs of all steps are multiplied with their weights in one product.
 *
 * @param input [L, N, input size]
 */
export function recurrentLayer(
  cell: RecurrentCell,
  reverse: boolean,
  given: Value,
  weights: RecurrentWeights<Value>,
  first: RecurrentState,
  name: 'RNN' | 'LSTM' | 'recurrentProducts' = 'recurrentProducts',
): RecurrenceOutputs {
  const { state: h, cellState: c } = first;
  const [input, weightIh, weightHh, biasIh, biasHh] = autocastValues('recurrentProducts', [
    given,
    weights.weightIh,
    weights.weightHh,
    weights.biasIh,
    weights.biasHh,
  ] as const);
  const [state, cellState] = name === 'recurrentProducts' ? [h, c] : autocastValues(name, [h, c] as const);
  // In gru, the last gate multiplies the recurrent bias; otherwise both biases are added once.
  const addsBiases = cell !== 'gru';
  const inputBias = addsBiases && biasIh && biasHh ? add(biasIh, biasHh) : biasIh;
  const gates = overRows(input, (rows) => gemm(rows, weightIh, inputBias, { transB: true }));
  return recurrence(cell, reverse, {
    gates,
    weight: weightHh,
    bias: addsBiases ? undefined : biasHh,
    ...first,
    state,
    cellState,
  });
}
