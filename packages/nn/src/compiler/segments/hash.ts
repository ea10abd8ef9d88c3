/** Hashes numbers and short texts: FNV-1a over 32-bit words, with the last mixing of MurmurHash3, because many differ in few bits. */
export class Hash {
  #state = 0x811c9dc5;

  add(number: number): void {
    const whole = Number.isInteger(number) ? number : Math.fround(number) * 2 ** 20;
    this.#state = Math.imul(this.#state ^ whole, 0x01000193);
  }

  addText(text: string): void {
    for (let i = 0; i < text.length; i += 1) {
      this.#state = Math.imul(this.#state ^ text.charCodeAt(i), 0x01000193);
    }
  }

  /** From 0 to 2^32 - 1. */
  get value(): number {
    let hash = this.#state;
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  }
}
