/**
 * Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, 2011): four 32-bit words as a function of a counter and a key.
 *
 * @param counter four words
 * @param key two words
 */
export function philox(counter: readonly number[], key: readonly number[]): number[] {
  let [a, b, c, d] = counter;
  let [low, high] = key;
  for (let round = 0; round < 10; round += 1) {
    const [left, right] = [highProduct(a, 0xd2511f53), highProduct(c, 0xcd9e8d57)];
    const [lowerLeft, lowerRight] = [Math.imul(a, 0xd2511f53), Math.imul(c, 0xcd9e8d57)];
    a = (right ^ b ^ low) >>> 0;
    b = lowerRight >>> 0;
    c = (left ^ d ^ high) >>> 0;
    d = lowerLeft >>> 0;
    low = (low + 0x9e3779b9) >>> 0;
    high = (high + 0xbb67ae85) >>> 0;
  }
  return [a, b, c, d];
}

/** The upper 32 bits of the product of two 32-bit numbers. */
function highProduct(a: number, b: number): number {
  const [lowA, highA, lowB, highB] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  // Each sum is below 2^53, and the first has at most 34 bits.
  const middle = highA * lowB + lowA * highB + Math.floor((lowA * lowB) / 2 ** 16);
  return highA * highB + Math.floor(middle / 2 ** 16);
}

/**
 * The factors of dropout: `scale` for elements that are kept, else 0. The addon's operator Dropout computes the same
 * (native/src/operators/dropout.h).
 *
 * @param key 64 bits
 * @param limit largest 32-bit number of an element that is kept
 */
export function dropoutMask(length: number, key: bigint, limit: number, scale: number): Float32Array {
  const mask = new Float32Array(length);
  const keyWords = [Number(key & 0xffffffffn), Number((key >> 32n) & 0xffffffffn)];
  for (let block = 0; block < length; block += 256) {
    for (let i = 0; i < 64; i += 1) {
      const counter = block / 4 + i;
      const words = philox([counter >>> 0, Math.floor(counter / 2 ** 32), 0, 0], keyWords);
      for (const [place, word] of words.entries()) {
        const at = block + 64 * place + i;
        if (at < length && word <= limit) mask[at] = scale;
      }
    }
  }
  return mask;
}
