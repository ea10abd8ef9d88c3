/** The format of src/reduce/quantize.h in plain JavaScript. */

export const blockElements = 256;

export type Bits = 8 | 4;

/** Q: the integer that stands for the largest magnitude of a block. */
export const largestOf = (bits: Bits): number => 2 ** (bits - 1) - 1;

export const packedBytes = (bits: Bits, count: number): number =>
  Math.ceil(count / blockElements) * (4 + (blockElements * bits) / 8);

const { fround } = Math;

/** M / Q, rounded up to 16 significant bits. */
export function scaleOf(bits: Bits, block: Float32Array): number {
  if (!block.every(Number.isFinite)) return NaN;
  const largest = Math.max(0, ...block.map(Math.abs));
  if (largest < 2 ** -119) return 0;
  const scale = new Uint32Array(Float32Array.of(largest / largestOf(bits)).buffer);
  scale[0] = (scale[0] + 0xff) & ~0xff;
  return new Float32Array(scale.buffer)[0];
}

/** The integers of a block. */
export function integersOf(scale: number, block: Float32Array): number[] {
  if (!(scale > 0)) return Array.from(block, () => 0);
  const factor = fround(2 / scale);
  return Array.from(block, (element) => {
    const twice = Math.trunc(fround(Math.abs(element) * factor));
    return Math.sign(element) * Math.floor((twice + 1) / 2) || 0;
  });
}

/** The packed bytes of an array, what they stand for, and what the rounding lost; `undefined` for what is not finite. */
export function quantized(bits: Bits, elements: Float32Array) {
  const packed = new Uint8Array(packedBytes(bits, elements.length));
  const values = new Float32Array(elements.length);
  const lost: (number | undefined)[] = [];
  const blockBytes = packedBytes(bits, blockElements);
  for (let begin = 0, at = 0; begin < elements.length; begin += blockElements, at += blockBytes) {
    const block = new Float32Array(blockElements);
    block.set(elements.subarray(begin, begin + blockElements));
    const scale = scaleOf(bits, block);
    const integers = integersOf(scale, block);
    const view = new DataView(packed.buffer, at, blockBytes);
    // The NaN that the kernels write.
    if (Number.isNaN(scale)) view.setUint32(0, 0x7fc00000, true);
    else view.setFloat32(0, scale, true);
    const words = (blockElements * bits) / 32;
    for (let word = 0; word < words; word += 1) {
      let packedWord = 0;
      for (let field = 0; field < 32 / bits; field += 1) {
        packedWord |= (integers[word + field * words] & (2 ** bits - 1)) << (bits * field);
      }
      view.setInt32(4 + 4 * word, packedWord, true);
    }
    for (let i = begin; i < Math.min(elements.length, begin + blockElements); i += 1) {
      values[i] = integers[i - begin] * scale;
      lost[i] = Number.isNaN(scale) ? undefined : fround(elements[i] - values[i]);
    }
  }
  return { packed, values, lost };
}
