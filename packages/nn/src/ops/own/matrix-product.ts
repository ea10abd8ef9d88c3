import type { MatrixProductAttributes, ProductActivation } from '../../graph/attributes.ts';
import { createNode, type Node, type Value } from '../../graph/node.ts';
import type { ValueType } from '../../value-type.ts';
import { noGradient, type OperatorFamily } from '../definition.ts';

/** Operands of a product and of its epilogue. */
export interface ProductOperands {
  readonly left: Value;
  readonly right: Value;
  /** float32 [N], added to every row. */
  readonly bias?: Value | undefined;
  /** The x of `geluGradient`. */
  readonly argument?: Value | undefined;
}

/** @param type of the result and of the values before the activation */
export function matrixProduct(
  { left, right, bias, argument }: ProductOperands,
  attributes: Omit<MatrixProductAttributes, 'hasBias' | 'hasArgument'>,
  type: ValueType,
): Node<'MatrixProduct'> {
  const inputs = [left, right, bias, argument].filter((input) => input !== undefined);
  const has = { hasBias: bias !== undefined, hasArgument: argument !== undefined };
  return createNode('MatrixProduct', inputs, { ...attributes, ...has }, [type, type]);
}

/** The numbers of the activations in the addon (native/src/operators/product/product.h). */
const activations: Readonly<Record<ProductActivation, number>> = {
  none: 0,
  relu: 1,
  gelu: 2,
  geluGradient: 3,
};

export const matrixProducts: OperatorFamily<'MatrixProduct'> = {
  MatrixProduct: {
    takesBfloat16: true,
    emit: (graph, { outputs: [result], attributes }, [left, right, ...options], outputs) => {
      const { transLeft, transRight, sums, activation, hasBias, hasArgument } = attributes;
      const [bias, argument = ''] = hasBias ? options : ['', ...options];
      const name = result.dtype === 'bfloat16' ? 'HalfMatrixProduct' : 'MatrixProduct';
      graph.ownNode(name, [left, right, bias, hasArgument ? argument : ''], outputs, {
        transLeft: Number(transLeft),
        transRight: Number(transRight),
        halves: Number(attributes.inBfloat16),
        sums: Number(sums),
        ones: sums ? result.shape.length - 2 : 0,
        activation: activations[activation],
      });
    },
    omits: [1],
    gradient: noGradient,
  },
};
