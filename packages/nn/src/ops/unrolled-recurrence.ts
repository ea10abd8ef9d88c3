import type { Value } from '../graph/node.ts';
import type { RecurrentCell } from '../graph/attributes.ts';
import { add, greater, mul, relu, sub, where } from './elementwise.ts';
import { sigmoid, tanh } from './functions.ts';
import { gemm } from './linear-algebra.ts';
import { concat, expand, reshape, slice, split } from './shape.ts';
import { constant, int64Constant } from './source.ts';

/** One direction of a layer. */
export interface RecurrenceInputs {
  /** The input times its weights, plus biases: [L, N, G·H]. */
  readonly gates: Value;
  /** [G·H, H] */
  readonly weight: Value;
  /** The first state, [N, H]. */
  readonly state: Value;
  /** The first cell for lstm, [N, H]. */
  readonly cellState?: Value | undefined;
  /** Added to the product of state and weight, [G·H]. Default: 0. */
  readonly bias?: Value | undefined;
  /** Steps of each sequence, int64 [N]. Default: L. */
  readonly lengths?: Value | undefined;
}

/** States, 0 after each length; the states and cells after the last step. */
export interface RecurrenceOutputs {
  /** [L, N, H] */
  readonly states: Value;
  /** [N, H] */
  readonly last: Value;
  /** [N, H], for lstm. */
  readonly lastCell: Value | undefined;
}

interface State {
  readonly h: Value;
  /** The cell state, for lstm. */
  readonly c?: Value | undefined;
}

/** The steps of a recurrent network, each with its own nodes: the oracle of the operator Recurrence. */
export function unrolled(cell: RecurrentCell, reverse: boolean, given: RecurrenceInputs): RecurrenceOutputs {
  const { gates, weight, bias, lengths } = given;
  const [steps, rows, width] = gates.shape;
  let state: State = { h: given.state, c: given.cellState };
  const states = new Array<Value>(steps);
  for (let index = 0; index < steps; index += 1) {
    const time = reverse ? steps - 1 - index : index;
    const x = reshape(slice(gates, 0, time, time + 1), [rows, width]);
    const product = gemm(state.h, weight, bias, { transB: true });
    const next = cells[cell](x, product, state);
    const active = lengths && greater(reshape(lengths, [rows, 1]), int64Constant([], [time]));
    const zeros = expand(constant(0), next.h.shape);
    states[time] = reshape(active ? where(active, next.h, zeros) : next.h, [1, ...next.h.shape]);
    state = active
      ? { h: where(active, next.h, state.h), c: next.c && where(active, next.c, state.c!) }
      : next;
  }
  return { states: concat(states, 0), last: state.h, lastCell: state.c };
}

/** A step from the input's part of the gates, the product of the state and the weights, and the state. */
const cells: Readonly<Record<RecurrentCell, (x: Value, product: Value, state: State) => State>> = {
  tanh: (x, product) => ({ h: tanh(add(x, product)) }),
  relu: (x, product) => ({ h: relu(add(x, product)) }),
  lstm: (x, product, { c }) => {
    const [i, f, g, o] = split(add(x, product), 1, 4);
    const next = add(mul(sigmoid(f), c!), mul(sigmoid(i), tanh(g)));
    return { h: mul(sigmoid(o), tanh(next)), c: next };
  },
  gru: (x, product, { h }) => {
    const [[xr, xz, xn], [pr, pz, pn]] = [split(x, 1, 3), split(product, 1, 3)];
    const z = sigmoid(add(xz, pz));
    const n = tanh(add(xn, mul(sigmoid(add(xr, pr)), pn)));
    return { h: add(mul(sub(constant(1), z), n), mul(z, h)) };
  },
};
