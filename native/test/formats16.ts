/** A floating-point format of 16 bits, by its definition: the slow and obvious reference. */
export interface Format16 {
  /** Bits after the binary point; the exponent has the 15 − fractionBits bits above them. */
  readonly fractionBits: number;
  /** Exponent of the smallest normal number, and of all subnormal ones. */
  readonly minExponent: number;
  /** Bit pattern of infinity; larger magnitudes are NaN. */
  readonly infinity: number;
}

export const float16: Format16 = { fractionBits: 10, minExponent: -14, infinity: 0x7c00 };
export const bfloat16: Format16 = { fractionBits: 7, minExponent: -126, infinity: 0x7f80 };

export function valueOf(format: Format16, bits: number): number {
  const magnitude = bits & 0x7fff;
  const sign = bits & 0x8000 ? -1 : 1;
  if (magnitude > format.infinity) return NaN;
  if (magnitude === format.infinity) return sign * Infinity;
  return sign * magnitudeOf(format, magnitude);
}

/** Value of the infinity pattern: the successor of the largest number; from halfway to it, numbers round up. */
function magnitudeOf({ fractionBits, minExponent }: Format16, bits: number): number {
  const field = bits >> fractionBits;
  const fraction = (bits & ((1 << fractionBits) - 1)) / 2 ** fractionBits;
  return field === 0 ? fraction * 2 ** minExponent : (1 + fraction) * 2 ** (minExponent + field - 1);
}

/** Rounds to the nearest number of the format, by bisection; ties go to the even bit pattern. */
export function bitsOf(format: Format16, value: number): number {
  if (Number.isNaN(value)) return format.infinity + 1;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  return sign | nearest(format, Math.abs(value));
}

function nearest(format: Format16, magnitude: number): number {
  let below = 0;
  let above = format.infinity;
  if (magnitude >= magnitudeOf(format, above)) return above;
  while (above - below > 1) {
    const middle = (below + above) >> 1;
    if (magnitudeOf(format, middle) <= magnitude) below = middle;
    else above = middle;
  }
  const toBelow = magnitude - magnitudeOf(format, below);
  const toAbove = magnitudeOf(format, above) - magnitude;
  if (toBelow === toAbove) return below % 2 === 0 ? below : above;
  return toBelow < toAbove ? below : above;
}
