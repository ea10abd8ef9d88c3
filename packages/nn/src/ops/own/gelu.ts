import { isFloat } from '../../dtype.ts';
import { ShapeError } from '../../errors/errors.ts';
import { createValue, type Value } from '../../graph/node.ts';
import { describeType } from '../../value-type.ts';
import { noGradient, type OperatorFamily } from '../definition.ts';
import { add, mul } from '../elementwise.ts';
import { erf } from '../functions.ts';
import { constant } from '../source.ts';

/** x·Φ(x), Φ the standard normal distribution. */
export function gelu(x: Value): Value {
  if (!isFloat(x)) throw new ShapeError(`gelu: expected float32, got ${describeType(x)}.`);
  return createValue('Gelu', [x], {}, x);
}

export const gelus: OperatorFamily<'Gelu' | 'GeluGradient'> = {
  Gelu: {
    plain: ({ inputs: [x] }) => [
      mul(mul(x, constant(0.5)), add(erf(mul(x, constant(Math.SQRT1_2))), constant(1))),
    ],
    emit: (graph, _, inputs, outputs) => {
      graph.ownNode('Gelu', inputs, outputs);
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [x] }, [d]) => [d && createValue('GeluGradient', [d, x], {}, x)],
  },
  GeluGradient: {
    emit: (graph, _, inputs, outputs) => {
      graph.ownNode('GeluGradient', inputs, outputs);
    },
    takesBfloat16: true,
    gradient: noGradient,
  },
};
