const round = Math.fround;

/**
 * Transforms 16 uniform numbers to normal numbers, bit-identical to torch's CPU generator: the Box-Muller transform in
 * float32, with the logarithm, sine and cosine of Cephes (Moshier) as in aten/src/ATen/native/cpu/avx_mathfun.h for AVX2,
 * where the compiler fuses multiply and add.
 *
 * @param array uniform in [0, 1) in the 16 elements from `start`; normal afterwards
 */
export function boxMuller16(array: Float32Array, start: number, mean: number, std: number): void {
  for (let k = start; k < start + 8; k += 1) {
    // In (0, 1], so that the logarithm is finite.
    const radius = round(Math.sqrt(round(-2 * log(round(1 - array[k])))));
    setSineAndCosine(round(round(2 * Math.PI) * array[k + 8]));
    array[k] = multiplyAdd(round(radius * cosine), std, mean);
    array[k + 8] = multiplyAdd(round(radius * sine), std, mean);
  }
}

/** a·b + c for floats, rounded once: the product is exact in double. */
const multiplyAdd = (a: number, b: number, c: number): number => round(a * b + c);

/** log 2 in two parts, the larger one with few significant bits. */
const log2Rest = round(-2.1219444e-4);
const log2 = round(0.693359375);

/*
 * The coefficients as float32, the one of the highest power first, and −π/4 in three parts, the first two with few significant
 * bits. Written one by one, because loops over arrays of them take twice the time.
 */
const [l0, l1, l2] = [round(7.0376836292e-2), round(-1.151461031e-1), round(1.167699874e-1)];
const [l3, l4, l5] = [round(-1.2420140846e-1), round(1.4249322787e-1), round(-1.6668057665e-1)];
const [l6, l7, l8] = [round(2.0000714765e-1), round(-2.4999993993e-1), round(3.3333331174e-1)];
const [c0, c1, c2] = [round(2.443315711809948e-5), round(-1.388731625493765e-3), round(4.166664568298827e-2)];
const [s0, s1, s2] = [round(-1.9515295891e-4), round(8.3321608736e-3), round(-1.6666654611e-1)];
const [turn0, turn1, turn2] = [
  round(-0.78515625),
  round(-2.4187564849853515625e-4),
  round(-3.774894977445941e-8),
];

const float = new Float32Array(1);
const bits = new Int32Array(float.buffer);

/** log x for x = m·2ᵉ with m in [√½, √2): e·log 2 + log m. */
function log(x: number): number {
  float[0] = x;
  let exponent = (bits[0] >>> 23) - 126;
  bits[0] = (bits[0] & 0x007fffff) | 0x3f000000;
  let m = float[0];
  if (m < round(Math.SQRT1_2)) {
    exponent -= 1;
    m = round(round(m - 1) + m);
  } else {
    m = round(m - 1);
  }
  const square = round(m * m);
  let rest = round(logPolynomial(m) * m);
  rest = multiplyAdd(rest, square, round(exponent * log2Rest));
  rest = multiplyAdd(-square, 0.5, rest);
  return multiplyAdd(exponent, log2, round(m + rest));
}

function logPolynomial(m: number): number {
  let value = multiplyAdd(l0, m, l1);
  value = multiplyAdd(value, m, l2);
  value = multiplyAdd(value, m, l3);
  value = multiplyAdd(value, m, l4);
  value = multiplyAdd(value, m, l5);
  value = multiplyAdd(value, m, l6);
  value = multiplyAdd(value, m, l7);
  return multiplyAdd(value, m, l8);
}

/** Sine and cosine of the last angle. */
let sine = 0;
let cosine = 0;

/** Computes `sine` and `cosine` of an angle of at least 0, reduced to within π/4 of a multiple of π/2. */
function setSineAndCosine(angle: number): void {
  const octant = (Math.trunc(round(angle * round(4 / Math.PI))) + 1) & ~1;
  let x = multiplyAdd(octant, turn0, angle);
  x = multiplyAdd(octant, turn1, x);
  x = multiplyAdd(octant, turn2, x);
  const square = round(x * x);
  const quartic = round(multiplyAdd(multiplyAdd(c0, square, c1), square, c2) * square);
  const cosineOfRest = round(multiplyAdd(quartic, square, -round(square * 0.5)) + 1);
  const cubic = round(multiplyAdd(multiplyAdd(s0, square, s1), square, s2) * square);
  const sineOfRest = multiplyAdd(cubic, x, x);
  const exchanged = (octant & 2) !== 0;
  const sineSign = (octant & 4) !== 0 ? -1 : 1;
  const cosineSign = ((octant - 2) & 4) !== 0 ? 1 : -1;
  sine = sineSign * (exchanged ? cosineOfRest : sineOfRest);
  cosine = cosineSign * (exchanged ? sineOfRest : cosineOfRest);
}
