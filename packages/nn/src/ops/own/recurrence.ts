import type { DType } from '../../dtype.ts';
import { createNode, type Node, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import type { RecurrenceAttributes, RecurrentCell } from '../../graph/attributes.ts';
import type { GraphBuilder } from '../../onnx-format/graph-builder.ts';
import { dataTypeCode } from '../../onnx-format/type-codes.ts';
import { sumToShape } from '../broadcast.ts';
import { refuseGradient, type OperatorFamily } from '../definition.ts';
import { cast, widened } from '../elementwise.ts';
import { gemm } from '../linear-algebra.ts';
import { reshape } from '../shape.ts';
import { unrolled, type RecurrenceInputs, type RecurrenceOutputs } from '../unrolled-recurrence.ts';

/** Gates of a step, in torch's order: i, f, g, o for lstm; r, z, n for gru. */
export const gatesOf: Readonly<Record<RecurrentCell, number>> = { tanh: 1, relu: 1, lstm: 4, gru: 3 };

/**
 * All steps of a recurrent network in one direction, as one operator. Gates and states may be bfloat16; states are rounded after
 * each step, and are multiplied in bfloat16 if the weight is.
 */
export function recurrence(
  cell: RecurrentCell,
  reverse: boolean,
  given: RecurrenceInputs,
): RecurrenceOutputs {
  const { gates, weight, state, lengths } = given;
  const cellState = given.cellState && cast(given.cellState, state.dtype);
  const bias = given.bias && widened(given.bias);
  const inputs = [gates, weight, state, cellState, bias, lengths].filter((input) => input !== undefined);
  const attributes = { cell, reverse, hasBias: bias !== undefined, hasLengths: lengths !== undefined };
  const states = { dtype: state.dtype, shape: [...gates.shape.slice(0, 2), weight.shape[1]] };
  const isLstm = cell === 'lstm';
  const types = [states, state, ...(isLstm ? [state] : []), ...(savesGates(cell) ? [gates, states] : [])];
  const { outputs } = createNode('Recurrence', inputs, attributes, types);
  return { states: outputs[0], last: outputs[1], lastCell: isLstm ? outputs[2] : undefined };
}

export const recurrences: OperatorFamily<'Recurrence' | 'RecurrenceGradient'> = {
  Recurrence: {
    plain: ({ inputs, attributes }) => {
      const { states, last, lastCell } = unrolled(
        attributes.cell,
        attributes.reverse,
        named(inputs, attributes),
      );
      return [states, last, ...(lastCell ? [lastCell] : [])];
    },
    emit: (graph, { attributes }, inputs, outputs) => {
      const { gates, weight, state, cellState = '', bias = '', lengths = '' } = named(inputs, attributes);
      const [states, last, ...others] = outputs;
      const [lastCell = '', ...saved] = attributes.cell === 'lstm' ? others : ['', ...others];
      graph.ownNode(
        'Recurrence',
        [gates, weight, state, cellState, bias, lengths],
        [states, last, lastCell, ...saved],
        codes(attributes),
      );
    },
    omits: [2, 3, 4],
    takesBfloat16: true,
    differentiatesBfloat16: true,
    differentiatesOnce: true,
    gradient: (node, gradients) => gradientOf(node, gradients),
  },
  RecurrenceGradient: {
    emit: (graph, { attributes, outputs: [gates] }, inputs, outputs) => {
      const rest = [...inputs];
      const next = (isThere: boolean) => (isThere ? rest.shift()! : '');
      const { cell, hasLengths, given } = attributes;
      const saves = savesGates(cell);
      const first = [next(true), next(true), next(true), next(cell === 'lstm'), next(hasLengths)];
      // onnxruntime infers the dtype of the outputs from an input, so there is one even if nothing reads it.
      const functions = saves ? next(true) : zero(graph, gates.dtype);
      const places = [...first, functions, next(saves), ...given.map(next)];
      graph.ownNode('RecurrenceGradient', places, outputs, codes(attributes));
    },
    omits: [1, 2, 3, 4],
    takesBfloat16: true,
    gradient: refuseGradient,
  },
};

/** [1] of this dtype. */
function zero(graph: GraphBuilder, dtype: DType): string {
  const number = graph.constant('float32', [1], [0]);
  if (dtype !== 'bfloat16') return number;
  const rounded = graph.freshName('zero');
  graph.node('Cast', [number], [rounded], { to: dataTypeCode.bfloat16 });
  return rounded;
}

/** The gradient of the gates is computed step by step; the gradients of the weights are one product over all steps. */
function gradientOf(
  { inputs, outputs, attributes }: Node<'Recurrence'>,
  gradients: readonly (Value | undefined)[],
): readonly (Value | undefined)[] {
  const { cell } = attributes;
  const { gates, weight, state, cellState, bias, lengths } = named(inputs, attributes);
  const isLstm = cell === 'lstm';
  const received = [gradients[0], gradients[1], isLstm ? gradients[2] : undefined];
  const given = received.map((one) => one !== undefined) as [boolean, boolean, boolean];
  const saved = savesGates(cell) ? outputs.slice(-2) : [];
  const [dGates, dProducts, previous, dState, dCell] = createNode(
    'RecurrenceGradient',
    [outputs[0], weight, state, cellState, lengths, ...saved, ...received].filter((one) => one !== undefined),
    { ...attributes, given },
    [gates, gates, { dtype: gates.dtype, shape: outputs[0].shape }, state, state],
  ).outputs;
  const rows = sizeOf(gates.shape.slice(0, 2));
  const products = reshape(cell === 'gru' ? dProducts : dGates, [rows, gates.shape[2]]);
  const dWeight = gemm(products, reshape(previous, [rows, weight.shape[1]]), undefined, { transA: true });
  const dBias = bias && sumToShape(products, bias.shape);
  return [dGates, dWeight, dState, ...(isLstm ? [dCell] : []), ...(bias ? [dBias] : [])];
}

function named<T>(
  inputs: readonly T[],
  { cell, hasBias, hasLengths }: RecurrenceAttributes,
): { gates: T; weight: T; state: T; cellState?: T; bias?: T; lengths?: T } {
  const [gates, weight, state, ...rest] = inputs;
  return {
    gates,
    weight,
    state,
    ...(cell === 'lstm' && { cellState: rest.shift()! }),
    ...(hasBias && { bias: rest.shift()! }),
    ...(hasLengths && { lengths: rest.shift()! }),
  };
}

const savesGates = (cell: RecurrentCell): boolean => cell === 'lstm' || cell === 'gru';

/** Matches the enumeration `Cell` of native/src/operators/recurrent_cell.h. */
const cellCodes: Readonly<Record<RecurrentCell, number>> = { tanh: 0, relu: 1, lstm: 2, gru: 3 };

function codes({ cell, reverse }: RecurrenceAttributes): { cell: number; reverse: number } {
  return { cell: cellCodes[cell], reverse: Number(reverse) };
}
