import type { GeluAttributes } from '../../graph/attributes.ts';
import { isFloat } from '../../dtype.ts';
import { ShapeError } from '../../errors/errors.ts';
import { createNode, createValue, type Value } from '../../graph/node.ts';
import { describeType } from '../../value-type.ts';
import type { OperatorFamily } from '../definition.ts';
import { add, mul } from '../elementwise.ts';
import { erf, pow, sigmoid } from '../functions.ts';
import { constant } from '../source.ts';

/** x·Φ(x), Φ the standard normal distribution, or its approximation by the hyperbolic tangent. */
export function gelu(x: Value, approximate: GeluAttributes['approximate'] = 'none'): Value {
  if (!isFloat(x)) throw new ShapeError(`gelu: expected float32, got ${describeType(x)}.`);
  return createValue('Gelu', [x], { approximate }, x);
}

export const gelus: OperatorFamily<'Gelu' | 'GeluGradient'> = {
  Gelu: {
    plain: ({ inputs: [x], attributes }) => [
      attributes.approximate === 'tanh'
        ? byTangent(x)
        : mul(mul(x, constant(0.5)), add(erf(mul(x, constant(Math.SQRT1_2))), constant(1))),
    ],
    emit: (graph, { attributes }, inputs, outputs) => {
      graph.ownNode('Gelu', inputs, outputs, codesOf(attributes));
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [x], attributes }, [d]) => [d && createValue('GeluGradient', [d, x], attributes, x)],
  },
  GeluGradient: {
    emit: (graph, { attributes }, inputs, outputs) => {
      graph.ownNode('GeluGradient', inputs, outputs, codesOf(attributes));
    },
    takesBfloat16: true,
    adjoint: ({ inputs: [d, x], attributes }) => ({
      of: createNode('Gelu', [x], attributes, [x]),
      gradients: [d],
      positions: [0],
    }),
    gradient: 'ofPlain',
  },
};

function byTangent(x: Value): Value {
  const cubic = add(x, mul(pow(x, 3), constant(0.044715)));
  // (1 + tanh u) / 2 is sigmoid(2u), which keeps its precision if the tanh is near −1.
  return mul(x, sigmoid(mul(cubic, constant(2 * Math.sqrt(2 / Math.PI)))));
}

function codesOf({ approximate }: GeluAttributes): { tanh: number } {
  return { tanh: Number(approximate === 'tanh') };
}
