import { createValue } from '../../../graph/node.ts';
import { Tensor } from '../../../tensor.ts';
import { remainder } from '../../../ops/division.ts';
import { int64Constant } from '../../../ops/source.ts';
import type { OperatorCall } from '../call.ts';
import { asTensor, constantArray, numbersOf } from '../constant-array.ts';
import { widthOf, type IntegerType } from '../element-type.ts';

// Arithmetic of int64, of which onnxruntime has parts only.

const whole = (number: number): Tensor => new Tensor(int64Constant([], [number]));

export const negatedInteger = (x: Tensor): Tensor => whole(0).sub(x);

export function absoluteInteger(x: Tensor): Tensor {
  return negatedInteger(x).where(whole(0).gt(x), x);
}

/** −1, 0 or 1. */
export function signOfInteger(x: Tensor): Tensor {
  return x.gt(whole(0)).long().sub(whole(0).gt(x).long());
}

/** A divisor that a processor can divide by: 1 instead of 0. */
const safe = (divisor: Tensor): Tensor => whole(1).where(divisor.eq(whole(0)), divisor);

/** The quotient without its fraction; 0 where the divisor is 0, as in numpy. */
export function quotientOfIntegers(a: Tensor, b: Tensor): Tensor {
  const shape = a.add(b).shape;
  const quotient = createValue('IntegerDiv', [a.value, safe(b).value], {}, { dtype: 'int64', shape });
  return whole(0).where(b.eq(whole(0)), new Tensor(quotient));
}

/** The remainder, with the sign of the divisor or of the dividend; 0 where the divisor is 0, as in numpy. */
export function remainderOfIntegers(a: Tensor, b: Tensor, hasSignOfDividend: boolean): Tensor {
  const divisor = safe(b);
  const rest = hasSignOfDividend ? a.fmod(divisor) : a.remainder(divisor);
  return whole(0).where(b.eq(whole(0)), rest);
}

/** x to the power of input 1, by squaring. */
export function integerPower(call: OperatorCall<unknown>, x: Tensor): Tensor {
  const operand = call.operand(1);
  if (operand instanceof Tensor) throw call.error('expected exponents that are constants');
  const exponents = numbersOf(operand);
  if (!exponents.every((exponent) => Number.isSafeInteger(exponent) && exponent >= 0)) {
    throw call.error(`expected integers to powers that are natural numbers, got [${exponents.join()}]`);
  }
  const bits = Math.ceil(Math.log2(Math.max(1, ...exponents) + 1));
  let [result, square] = [whole(1).expand(...x.shape), x];
  for (let bit = 0; bit < bits; bit += 1) {
    const has = exponents.map((exponent) => Math.floor(exponent / 2 ** bit) % 2);
    const factor = has.every(Boolean)
      ? square
      : square.where(asTensor(constantArray('bool', operand.shape, has)), whole(1));
    result = result.mul(factor);
    square = square.mul(square);
  }
  return result;
}

/** The product of matrices, which onnxruntime has for floats only. */
export function productOfIntegers(a: Tensor, b: Tensor): Tensor {
  const [left, right] = [
    a.shape.length === 1 ? a.unsqueeze(0) : a,
    b.shape.length === 1 ? b.unsqueeze(1) : b,
  ];
  const products = left.unsqueeze(-1).mul(right.unsqueeze(-3));
  const full = sumOfIntegers(products, [products.shape.length - 2], false);
  const shape = full.shape.filter((_, axis) => {
    const fromEnd = full.shape.length - axis;
    return !(fromEnd === 2 && a.shape.length === 1) && !(fromEnd === 1 && b.shape.length === 1);
  });
  return full.view(...shape);
}

export function sumOfIntegers(x: Tensor, axes: readonly number[], keepdims: boolean): Tensor {
  const shape = keepdims
    ? x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size))
    : x.shape.filter((_, axis) => !axes.includes(axis));
  return new Tensor(createValue('ReduceSum', [x.value], { axes, keepdims }, { dtype: 'int64', shape }));
}

/** Keeps the bits of a narrow integer, as arithmetic of that type does. */
export function wrapped(x: Tensor, type: IntegerType): Tensor {
  const { bits, isSigned } = widthOf(type);
  if (bits === 64) return x;
  const [range, half] = [whole(2 ** bits), whole(isSigned ? 2 ** (bits - 1) : 0)];
  return new Tensor(remainder(x.add(half).value, range.value)).sub(half);
}
