import { Tensor } from '../../../tensor/tensor.ts';
import { remainder } from '../../../ops/division.ts';
import { int64Constant } from '../../../ops/source.ts';
import type { OperatorCall } from '../call.ts';
import { asTensor, constantArray, numbersOf } from '../constant-array.ts';
import { widthOf, type IntegerType } from '../element-type.ts';

// Arithmetic of int64, which tensors have no methods for.

const whole = (number: number): Tensor => new Tensor(int64Constant([], [number]));

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

/** The product of matrices, which onnxruntime implements for floats only. */
export function productOfIntegers(a: Tensor, b: Tensor): Tensor {
  const [left, right] = [
    a.shape.length === 1 ? a.unsqueeze(0) : a,
    b.shape.length === 1 ? b.unsqueeze(1) : b,
  ];
  const products = left.unsqueeze(-1).mul(right.unsqueeze(-3));
  const full = products.sum([products.shape.length - 2]);
  const shape = full.shape.filter((_, axis) => {
    const fromEnd = full.shape.length - axis;
    return !(fromEnd === 2 && a.shape.length === 1) && !(fromEnd === 1 && b.shape.length === 1);
  });
  return full.view(...shape);
}

/** Wraps values around to a narrow integer type, as arithmetic of that type does. */
export function wrapped(x: Tensor, type: IntegerType): Tensor {
  const { bits, isSigned } = widthOf(type);
  if (bits === 64) return x;
  const [range, half] = [whole(2 ** bits), whole(isSigned ? 2 ** (bits - 1) : 0)];
  return new Tensor(remainder(x.add(half).value, range.value)).sub(half);
}
