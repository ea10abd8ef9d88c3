import type { Value } from '../graph/node.ts';
import type { ElementwiseOp, ElementwiseProgram } from '../graph/attributes.ts';
import type { ValueType } from '../value-type.ts';
import { refuseGradient, type OperatorFamily } from './definition.ts';

/** Most arrays of a dtype that a program reads, and most that it computes, in the order of the operator's arguments. */
const mostArrays = { bool: 4, bfloat16: 8, float32: Infinity } as const;

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
  Round: 17,
  Gelu: 18,
  GeluGradient: 19,
  TanhGelu: 20,
  TanhGeluGradient: 21,
};

export const elementwisePrograms: OperatorFamily<'Elementwise'> = {
  Elementwise: {
    emit: (graph, { inputs: values, outputs: types, attributes }, inputs, outputs) => {
      graph.ownNode(
        'Elementwise',
        inProgramPlaces(inputs, values),
        inProgramPlaces(outputs, types),
        programAttributes(values, types, attributes),
      );
    },
    takesBfloat16: true,
    gradient: refuseGradient,
  },
};

/** The attributes of an operator with a program: native/src/onnxruntime/operators/program_arrays.h. */
export function programAttributes(
  inputs: readonly ValueType[],
  outputs: readonly ValueType[],
  { instructions, results }: ElementwiseProgram,
): Record<'code' | 'inputs' | 'outputs' | 'results' | 'shapes', readonly number[]> {
  const code = instructions.flatMap(({ op, operands }) => {
    const [a, b = 0, c = 0] = operands as [number, number?, number?];
    return [opcodes[op], a, b, c];
  });
  const shapes = outputs.flatMap(({ shape }) => [shape.length, ...shape]);
  return { code, inputs: countsOf(inputs), outputs: countsOf(outputs), results, shapes };
}

/** True if the operator has arguments for these arrays. */
export function fitsProgram(arrays: readonly ValueType[]): boolean {
  return countsOf(arrays).every((count, position) => count <= Object.values(mostArrays)[position]);
}

/** Arrays in the order of the operator's arguments: by dtype, each once. */
export function inArgumentOrder<T extends ValueType>(arrays: readonly T[]): T[] {
  const distinct = [...new Set(arrays)];
  return dtypes.flatMap((dtype) => distinct.filter((array) => array.dtype === dtype));
}

const dtypes = Object.keys(mostArrays) as (keyof typeof mostArrays)[];

function countsOf(arrays: readonly ValueType[]): number[] {
  return dtypes.map((dtype) => arrays.filter((array) => array.dtype === dtype).length);
}

/** The operator has a fixed number of arguments for conditions and for bfloat16; unused ones have an empty name. */
export function inProgramPlaces(names: readonly string[], types: readonly ValueType[]): string[] {
  return dtypes.flatMap((dtype) => {
    const own = names.filter((_, position) => types[position].dtype === dtype);
    const most = mostArrays[dtype];
    return Number.isFinite(most) ? [...own, ...Array<string>(most - own.length).fill('')] : own;
  });
}

export function isCondition({ dtype }: Pick<Value, 'dtype'>): boolean {
  return dtype === 'bool';
}
