import type { MatrixProductAttributes } from '../../graph/attributes.ts';
import { createNode, type Node, type Value } from '../../graph/node.ts';
import type { ValueType } from '../../value-type.ts';
import { refuseGradient, type OperatorFamily } from '../definition.ts';
import { inProgramPlaces, programAttributes } from '../elementwise-program.ts';

/** Operands of a product. */
export interface ProductOperands {
  readonly left: Value;
  readonly right: Value;
  /** float32 [N], added to every row. */
  readonly bias?: Value | undefined;
}

export function matrixProduct(
  { left, right, bias }: ProductOperands,
  attributes: Omit<MatrixProductAttributes, 'hasBias' | 'program'>,
  type: ValueType,
): Node<'MatrixProduct'> {
  const inputs = [left, right, ...(bias ? [bias] : [])];
  return createNode('MatrixProduct', inputs, { ...attributes, hasBias: bias !== undefined }, [type]);
}

export const matrixProducts: OperatorFamily<'MatrixProduct'> = {
  MatrixProduct: {
    takesBfloat16: true,
    emit: (graph, { inputs: values, outputs: types, attributes }, [left, right, ...rest], outputs) => {
      const { transLeft, transRight, inBfloat16, sums, hasBias } = attributes;
      const bias = hasBias ? rest.shift()! : '';
      const arrays = values.slice(values.length - rest.length);
      const program = attributes.program ?? { instructions: [], results: [0] };
      graph.ownNode(
        'MatrixProduct',
        [left, right, bias, ...inProgramPlaces(rest, arrays)],
        inProgramPlaces(outputs, types),
        {
          transLeft: Number(transLeft),
          transRight: Number(transRight),
          halves: Number(inBfloat16),
          sums: Number(sums),
          ...programAttributes(arrays, types, program),
        },
      );
    },
    gradient: refuseGradient,
  },
};
