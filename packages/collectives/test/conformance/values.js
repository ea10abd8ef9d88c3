// Input values of the ranks and expected results. Element `i` of every array is a periodic formula, so that expected
// values are computed naively once per period, and compared as bytes.
import { Buffer } from 'node:buffer';

import { bytesPerElement, typedArrayClass } from '@ringrun/collectives';

/** A prime, so that no algorithm's chunk, segment or slot is a multiple of it and misplaced data is detected. */
const period = 251;

/** Parts for different ranks start at different phases of the period. */
const phaseFor = (to) => (to * 13) % period;

const wrapOf = {
  int8: (value) => BigInt.asIntN(8, value),
  uint8: (value) => BigInt.asUintN(8, value),
  int32: (value) => BigInt.asIntN(32, value),
  uint32: (value) => BigInt.asUintN(32, value),
  int64: (value) => BigInt.asIntN(64, value),
  uint64: (value) => BigInt.asUintN(64, value),
};

/** 16-bit formats are computed in float32 and rounded when stored. */
const roundOf = {
  float32: Math.fround,
  float64: (value) => value,
  float16: Math.fround,
  bfloat16: Math.fround,
};

/**
 * Over the whole range, so that sums wrap around and signs matter; odd on every rank or on none, so that products do
 * not become 0.
 */
const integerTerm = (at, rank) => BigInt(at * 7 + rank * 10 + 1) * 0x9e3779b97f4a7c15n;

/**
 * Up to 6 significant bits, exact in every dtype, times 2^0 to 2^6. Sums over 8 ranks are exact in float32 in any
 * order, but need more bits than a 16-bit format has, so they must be rounded once. A NaN on the last rank, an infinity
 * on the first.
 */
function addend(at, rank, size) {
  if (at === 5 && rank === size - 1) return NaN;
  if (at === 11 && rank === 0) return Infinity;
  return ((((at * 5 + rank * 37) % 101) - 50) / 4) * 2 ** ((at + rank) % 7);
}

/** 3 significant bits: the product over 8 ranks has 24 and is exact in float32. */
function factor(at, rank, size) {
  if (at === 5 && rank === size - 1) return NaN;
  return (((at * 3 + rank * 5) % 8) * 2 - 7) / 4;
}

/**
 * For nccl, which rounds at every step and ignores NaN in MIN and MAX: quarters whose sums over 4 ranks have 8 significant
 * bits, as bfloat16, and factors whose product has 7. So the result is exact in any order.
 */
function gentleAddend(at, rank) {
  if (at === 11 && rank === 0) return Infinity;
  return (((at * 5 + rank * 37) % 101) - 50) / 4;
}

/**
 * AVG of nccl multiplies by 1/size before adding, and 1/3 is not exact: its error is 2^-25 of it in float32. The result
 * is exact nevertheless for multiples of the size that have the same sign on all ranks, with and without a fused
 * multiply-add: the error of their sum is less than half of its last bit.
 */
function averaged(at, rank, size) {
  if (at === 11 && rank === 0) return Infinity;
  return ((at % 2 === 0 ? size : -size) * (((at * 5 + rank * 37) % 50) + 1)) / 4;
}

const gentleFactors = [1, -1, 2, -0.5, 1.5, -1.5, 0.5, -2];
const gentleFactor = (at, rank) => gentleFactors[(at * 3 + rank * 5) % gentleFactors.length];

const isInteger = (dtype) => dtype in wrapOf;

/** Element `at` of the period of `rank`'s values, as its dtype is computed: BigInt for integers. */
function termAt({ dtype, op, size, backend }, at, rank) {
  if (isInteger(dtype)) return wrapOf[dtype](integerTerm(at, rank));
  if (backend === 'nccl' && op === 'AVG') return averaged(at, rank, size);
  if (backend === 'nccl' && op !== undefined)
    return op === 'PRODUCT' ? gentleFactor(at, rank) : gentleAddend(at, rank);
  return op === 'PRODUCT' ? factor(at, rank, size) : addend(at, rank, size);
}

const combine = {
  SUM: (left, right) => left + right,
  AVG: (left, right) => left + right,
  PRODUCT: (left, right) => left * right,
  MIN: (left, right) => (right < left || Number.isNaN(right) ? right : left),
  MAX: (left, right) => (right > left || Number.isNaN(right) ? right : left),
  BAND: (left, right) => left & right,
  BOR: (left, right) => left | right,
  BXOR: (left, right) => left ^ right,
};

function reducedAt(one, at) {
  const { dtype, op, size } = one;
  const terms = Array.from({ length: size }, (_, rank) => termAt(one, at, rank));
  const result = terms.reduce(combine[op]);
  if (isInteger(dtype)) return wrapOf[dtype](result);
  return roundOf[dtype](op === 'AVG' ? result / size : result);
}

function elementsOf(dtype, values) {
  const Class = typedArrayClass[dtype];
  if (bytesPerElement[dtype] === 2) return Class.fromFloat32(values);
  return Class.from(
    isInteger(dtype) && bytesPerElement[dtype] < 8 ? values.map(Number) : values,
    (value) => value,
  );
}

const known = new Map();

/** The bytes of one period of `valueAt`, from `phase` on. */
function patternOf(name, dtype, phase, valueAt) {
  const key = `${name}/${dtype}/${phase}`;
  if (!known.has(key)) {
    const values = Array.from({ length: period }, (_, i) => valueAt((i + phase) % period));
    known.set(key, bytesOf(elementsOf(dtype, values)));
  }
  return known.get(key);
}

/**
 * A pattern: bytes that an array repeats. `op`: the reduction applied to the array, if any. `to`: its only destination
 * rank, if any.
 */
export function patternOfTerms(one, from, to = 0) {
  const { dtype, op, size } = one;
  const formulas = { PRODUCT: 'factors', AVG: 'averaged numbers' };
  const formula = op === undefined ? 'elements' : (formulas[op] ?? 'addends');
  return patternOf(`${formula} of ${from} among ${size}`, dtype, phaseFor(to), (at) => termAt(one, at, from));
}

/** Reduces all ranks' terms, by definition. */
export function patternOfReduction(one, to = 0) {
  const { dtype, op, size } = one;
  return patternOf(`${op} among ${size}`, dtype, phaseFor(to), (at) => reducedAt(one, at));
}

/** The same memory, as bytes. */
export function bytesOf(array) {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}

export function fillWith(array, pattern) {
  if (array.length > 0) bytesOf(array).fill(pattern);
  return array;
}

/** Bytes compared at a time: they fit a core's cache. */
const stretchBytes = 128 * 1024;

/** Returns undefined if the array holds the pattern, else a description of the first wrong element. */
export function differenceFrom(pattern, array) {
  const bytes = bytesOf(array);
  const step = Math.min(Math.ceil(stretchBytes / pattern.length) * pattern.length, bytes.length);
  const expected = Buffer.alloc(step, pattern);
  for (let begin = 0; begin < bytes.length; begin += step) {
    const found = bytes.subarray(begin, begin + step);
    if (!found.equals(expected.subarray(0, found.length)))
      return firstDifference(array, pattern, begin / array.BYTES_PER_ELEMENT);
  }
  return undefined;
}

function firstDifference(array, pattern, begin) {
  const Class = array.constructor;
  const elements = (bytes) => new Class(Uint8Array.from(bytes).buffer);
  const expected = elements(pattern);
  const isWrong = (i) =>
    bitsOf(array.subarray(i, i + 1)) !== bitsOf(expected.subarray(i % expected.length).subarray(0, 1));
  let at = begin;
  while (!isWrong(at)) at++;
  const shown = (part) => `${String(numbersOf(part)[0])} (${bitsOf(part)})`;
  const wanted = expected.subarray(at % expected.length).subarray(0, 1);
  return `element ${at} of ${array.length} is ${shown(array.subarray(at, at + 1))}, expected ${shown(wanted)}`;
}

const bitsOf = (array) => bytesOf(array).toString('hex');
const numbersOf = (array) => array.toFloat32?.() ?? array;
