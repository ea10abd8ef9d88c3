import { ShapeError } from '../errors.ts';
import { createValue, describeType, type Value } from '../graph/node.ts';
import { broadcastShape, sumToShape } from './broadcast.ts';
import { noGradient, type OperatorFamily } from './definition.ts';
import { add, and, cast, div, greater, mul, neg, not, equal, sub, where } from './elementwise.ts';
import { floor } from './functions.ts';
import { constant } from './source.ts';

// Division with a remainder, of int64 or float32 values; elementwise, shapes broadcast.

/** a − b·⌊a/b⌋, with the sign of the divisor (torch.remainder, Python's %). */
export function remainder(a: Value, b: Value): Value {
  return mod('remainder', a, b, 'divisor');
}

/** a − b·trunc(a/b), with the sign of the dividend (torch.fmod, C's fmod). */
export function fmod(a: Value, b: Value): Value {
  return mod('fmod', a, b, 'dividend');
}

/** ⌊a/b⌋ (torch.floor_divide). */
export function floorDivide(a: Value, b: Value): Value {
  if (a.dtype === 'int64' && b.dtype === 'int64') {
    const whole = sub(a, remainder(a, b));
    return createValue('IntegerDiv', [whole, b], {}, { dtype: 'int64', shape: whole.shape });
  }
  return floor(div(a, b));
}

/** x without its fraction: the nearest integer towards 0 (torch.trunc). */
export function truncate(x: Value): Value {
  return where(greater(constant(0), x), neg(floor(neg(x))), floor(x));
}

function mod(op: string, a: Value, b: Value, sign: 'divisor' | 'dividend'): Value {
  if (a.dtype !== b.dtype || a.dtype === 'bool') {
    throw new ShapeError(
      `${op}: expected two tensors of one dtype, float32 or int64, got ${describeType(a)} and ${describeType(b)}.`,
    );
  }
  const type = { dtype: a.dtype, shape: broadcastShape(op, a, b) };
  if (a.dtype === 'int64') return createValue('Mod', [a, b], { sign }, type);
  const rest = createValue('Mod', [a, b], { sign: 'dividend' }, type);
  if (sign === 'dividend') return rest;
  // ONNX has the divisor's sign for integers only.
  const negative = (x: Value): Value => cast(greater(constant(0), x), 'float32');
  const otherSign = and(not(equal(rest, constant(0))), not(equal(negative(rest), negative(b))));
  return where(otherSign, add(rest, b), rest);
}

export const division: OperatorFamily<'Mod' | 'IntegerDiv'> = {
  Mod: {
    emit: (graph, { attributes: { sign } }, inputs, outputs) => {
      graph.node('Mod', inputs, outputs, { fmod: sign === 'dividend' ? 1 : 0 });
    },
    gradient: ({ inputs: [a, b] }, [d]) => {
      if (!d || a.dtype !== 'float32') return [];
      const quotient = truncate(div(a, b));
      return [sumToShape(d, a.shape), sumToShape(neg(mul(d, quotient)), b.shape)];
    },
  },
  IntegerDiv: {
    emit: (graph, _, inputs, outputs) => {
      graph.node('Div', inputs, outputs);
    },
    gradient: noGradient,
  },
};
