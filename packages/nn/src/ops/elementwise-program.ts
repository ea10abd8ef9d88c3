import type { Value } from '../graph/node.ts';
import type { ElementwiseOp } from '../graph/attributes.ts';
import { noGradient, type OperatorFamily } from './definition.ts';

/** Most conditions that a program reads, and most that it computes. */
export const maxConditions = 4;

/** The numbers of the instructions in the addon (native/src/operators/elementwise.h). */
const opcodes: Readonly<Record<ElementwiseOp, number>> = {
  Add: 0,
  Sub: 1,
  Mul: 2,
  Div: 3,
  Max: 4,
  Min: 5,
  Neg: 6,
  Sqrt: 7,
  Abs: 8,
  Relu: 9,
  Greater: 10,
  GreaterOrEqual: 11,
  LessOrEqual: 12,
  Equal: 13,
  IsNaN: 14,
  Or: 15,
  Where: 16,
};

export const elementwisePrograms: OperatorFamily<'Elementwise'> = {
  Elementwise: {
    emit: (
      graph,
      { inputs: values, outputs: types, attributes: { instructions, results } },
      inputs,
      outputs,
    ) => {
      const conditions = values.filter(isCondition).length;
      const conditionResults = types.filter(isCondition).length;
      const code = instructions.flatMap(({ op, operands }) => {
        const [a, b = 0, c = 0] = operands as [number, number?, number?];
        return [opcodes[op], a, b, c];
      });
      graph.ownNode('Elementwise', withPlaces(inputs, conditions), withPlaces(outputs, conditionResults), {
        code,
        conditions,
        numbers: inputs.length - conditions,
        results,
        conditionResults,
        shapes: types.flatMap(({ shape }) => [shape.length, ...shape]),
      });
    },
    gradient: noGradient,
  },
};

/** The operator has a fixed number of places for conditions; unused ones have an empty name. */
function withPlaces(names: readonly string[], conditions: number): string[] {
  return [
    ...names.slice(0, conditions),
    ...Array<string>(maxConditions - conditions).fill(''),
    ...names.slice(conditions),
  ];
}

export function isCondition({ dtype }: Pick<Value, 'dtype'>): boolean {
  return dtype === 'bool';
}
