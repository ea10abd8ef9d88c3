/** Yields `count` damaged copies of `bytes`: flipped and extreme bytes, cuts and insertions. The same for one seed. */
export function* mutated(bytes: Uint8Array, count: number, seed = 1): Generator<Buffer> {
  let state = seed;
  // Numerical Recipes' linear congruential generator; its high bits are the random ones.
  const below = (limit: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  for (let i = 0; i < count; i += 1) {
    let copy = Buffer.from(bytes);
    for (let change = below(4); change >= 0; change -= 1) {
      const at = below(copy.length);
      const kind = below(6);
      if (kind === 0) copy = copy.subarray(0, at + 1);
      else if (kind === 1)
        copy = Buffer.concat([copy.subarray(0, at), Buffer.alloc(below(40), 0xff), copy.subarray(at)]);
      else if (kind === 2) copy.subarray(at, at + 1 + below(8)).fill([0x00, 0x7f, 0x80, 0xff][below(4)]);
      else copy[at] ^= 1 << below(8);
    }
    yield copy;
  }
}
