/**
 * Arrays of 16-bit floating-point numbers, for which JavaScript has no class (float16: none before Node 24). The class
 * determines the dtype; elements are bit patterns.
 */

/** Dtypes whose elements are 16 bits. */
export type DType16 = 'float16' | 'bfloat16';

/**
 * The prototype property that holds the dtype. The tag cannot: it is 'Uint16Array' for every subclass. `instanceof`
 * fails between two copies of this package or two realms; the symbol registry is shared by all of them.
 *
 * @internal
 */
export const dtypeOfBits = Symbol.for('ringrun.dtypeOfBits');

interface Format {
  /** Bits after the binary point. */
  readonly fractionBits: number;
  /** Exponent of the smallest normal number and of all subnormal ones. */
  readonly leastExponent: number;
  /** Bit pattern of infinity; larger magnitudes are NaN. */
  readonly infinity: number;
}

/** IEEE 754 binary16. */
const float16: Format = { fractionBits: 10, leastExponent: -14, infinity: 0x7c00 };
/** The upper half of a float32. */
const bfloat16: Format = { fractionBits: 7, leastExponent: -126, infinity: 0x7f80 };

/** `subarray` and `slice` return the array's own class, which the types of Uint16Array do not express. */
abstract class Bits16 extends Uint16Array {
  override subarray(begin?: number, end?: number): this {
    const part: unknown = super.subarray(begin, end);
    return part as this;
  }

  override slice(start?: number, end?: number): this {
    const copy: unknown = super.slice(start, end);
    return copy as this;
  }
}

/**
 * Elements of dtype float16 (IEEE 754 half precision, as torch.float16): up to 65,504, with 11 significant bits. It is
 * a Uint16Array of bit patterns, with the same constructors: `new Float16Bits(length)` holds zeros, `new
 * Float16Bits(buffer, byteOffset, length)` is a view. Collectives also accept Node's own Float16Array (Node ≥ 24).
 *
 * structuredClone and postMessage keep the bits but not the class: create a view over the received array.
 */
export class Float16Bits extends Bits16 {
  /** @internal */
  get [dtypeOfBits](): 'float16' {
    return 'float16';
  }

  /** Converts `values`, each rounded once: to nearest, ties to even; infinity from 65,520 on; NaN stays NaN. */
  static fromFloat32(values: ArrayLike<number>): Float16Bits {
    return encodeInto(new Float16Bits(values.length), values, float16);
  }

  /** Converts to float32, exactly. */
  toFloat32(): Float32Array<ArrayBuffer> {
    return decoded(this, float16);
  }
}

/**
 * Elements of dtype bfloat16 (the upper half of a float32, as torch.bfloat16): the range of float32, with 8 significant
 * bits. Otherwise the same as `Float16Bits`.
 */
export class BFloat16Bits extends Bits16 {
  /** @internal */
  get [dtypeOfBits](): 'bfloat16' {
    return 'bfloat16';
  }

  /** Converts `values`, each rounded once: to nearest, ties to even; infinity beyond the largest; NaN stays NaN. */
  static fromFloat32(values: ArrayLike<number>): BFloat16Bits {
    return encodeInto(new BFloat16Bits(values.length), values, bfloat16);
  }

  /** Converts to float32, exactly. */
  toFloat32(): Float32Array<ArrayBuffer> {
    return decoded(this, bfloat16);
  }
}

function encodeInto<Bits extends Bits16>(bits: Bits, values: ArrayLike<number>, format: Format): Bits {
  for (let i = 0; i < bits.length; i++) bits[i] = encode(values[i], format);
  return bits;
}

function decoded(bits: Bits16, format: Format): Float32Array<ArrayBuffer> {
  const values = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) values[i] = decode(bits[i], format);
  return values;
}

const scratch = new DataView(new ArrayBuffer(8));

function encode(value: number, format: Format): number {
  scratch.setFloat64(0, value);
  const signAndExponent = scratch.getUint16(0);
  const sign = signAndExponent & 0x8000;
  if (Number.isNaN(value)) return sign | format.infinity | (1 << (format.fractionBits - 1));
  const exponent = ((signAndExponent >> 4) & 0x7ff) - 1023;
  return sign | encodeMagnitude(Math.abs(value), exponent, format);
}

/**
 * Counts the magnitude in units in the last place, 2^(exponent − fractionBits) each. A normal number has at least
 * 2^fractionBits units, so the sum below adds the 1 by which its exponent field exceeds a subnormal's, and also carries
 * into the exponent when a number is rounded up to the next power of two.
 */
function encodeMagnitude(magnitude: number, exponent: number, format: Format): number {
  const { fractionBits, leastExponent, infinity } = format;
  const nearestExponent = Math.max(exponent, leastExponent);
  const units = roundToEven(magnitude * powerOfTwo(fractionBits - nearestExponent));
  return Math.min((nearestExponent - leastExponent) * 2 ** fractionBits + units, infinity);
}

function decode(bits: number, { fractionBits, leastExponent, infinity }: Format): number {
  const magnitude = bits & 0x7fff;
  const sign = bits & 0x8000 ? -1 : 1;
  if (magnitude >= infinity) return magnitude === infinity ? sign * Infinity : NaN;
  const field = magnitude >> fractionBits;
  const fraction = magnitude & ((1 << fractionBits) - 1);
  const units = field === 0 ? fraction : fraction + (1 << fractionBits);
  return sign * units * powerOfTwo(leastExponent + Math.max(field - 1, 0) - fractionBits);
}

/**
 * Float64 represents only integers from 2^52 to 2^53, so the sum is rounded to an integer: to nearest, ties to even.
 */
function roundToEven(value: number): number {
  return value + 2 ** 52 - 2 ** 52;
}

const leastPower = -1074;
const powersOfTwo = Float64Array.from({ length: 1024 - leastPower }, (_, i) => 2 ** (i + leastPower));

/** A table, because `**` costs more than the rest of a conversion. */
function powerOfTwo(exponent: number): number {
  return powersOfTwo[exponent - leastPower];
}
