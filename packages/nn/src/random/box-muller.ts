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
    const [sine, cosine] = sineAndCosine(round(round(2 * Math.PI) * array[k + 8]));
    array[k] = multiplyAdd(round(radius * cosine), std, mean);
    array[k + 8] = multiplyAdd(round(radius * sine), std, mean);
  }
}

const round = Math.fround;

/** a·b + c for floats, rounded once: the product is exact in double. */
const multiplyAdd = (a: number, b: number, c: number): number => round(a * b + c);

/** Horner's scheme, the coefficient of the highest power first. */
function polynomial(x: number, coefficients: Float32Array): number {
  let value = coefficients[0];
  for (let k = 1; k < coefficients.length; k += 1) value = multiplyAdd(value, x, coefficients[k]);
  return value;
}

const logCoefficients = Float32Array.of(
  7.0376836292e-2,
  -1.151461031e-1,
  1.167699874e-1,
  -1.2420140846e-1,
  1.4249322787e-1,
  -1.6668057665e-1,
  2.0000714765e-1,
  -2.4999993993e-1,
  3.3333331174e-1,
);
/** log 2 in two parts, the larger one with few significant bits. */
const [log2Rest, log2] = Float32Array.of(-2.1219444e-4, 0.693359375);
const cosineCoefficients = Float32Array.of(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2);
const sineCoefficients = Float32Array.of(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1);
/** −π/4 in three parts, the first two with few significant bits. */
const quarterTurns = Float32Array.of(-0.78515625, -2.4187564849853515625e-4, -3.774894977445941e-8);

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
  let rest = round(polynomial(m, logCoefficients) * m);
  rest = multiplyAdd(rest, square, round(exponent * log2Rest));
  rest = multiplyAdd(-square, 0.5, rest);
  return multiplyAdd(exponent, log2, round(m + rest));
}

/** Sine and cosine of an angle of at least 0, reduced to within π/4 of a multiple of π/2. */
function sineAndCosine(angle: number): readonly [sine: number, cosine: number] {
  const octant = (Math.trunc(round(angle * round(4 / Math.PI))) + 1) & ~1;
  let x = angle;
  for (const part of quarterTurns) x = multiplyAdd(octant, part, x);
  const square = round(x * x);
  const quartic = round(polynomial(square, cosineCoefficients) * square);
  const cosine = round(multiplyAdd(quartic, square, -round(square * 0.5)) + 1);
  const sine = multiplyAdd(round(polynomial(square, sineCoefficients) * square), x, x);
  const exchanged = (octant & 2) !== 0;
  const sineSign = (octant & 4) !== 0 ? -1 : 1;
  const cosineSign = ((octant - 2) & 4) !== 0 ? 1 : -1;
  return [sineSign * (exchanged ? cosine : sine), cosineSign * (exchanged ? sine : cosine)];
}
