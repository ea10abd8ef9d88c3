/** The values that were used last. */
export class Recent<T> {
  readonly #most: number;
  /** The most recent is last. */
  readonly #values: T[] = [];

  /** @param most values that are kept */
  constructor(most: number) {
    this.#most = most;
  }

  /** The most recent value with this property, or a new one. It becomes the most recent. */
  use(hasProperty: (value: T) => boolean, make: () => T): T {
    const place = this.#values.findLastIndex(hasProperty);
    const value = place < 0 ? make() : this.#values[place];
    if (place >= 0 && place === this.#values.length - 1) return value;
    if (place >= 0) this.#values.splice(place, 1);
    this.#values.push(value);
    if (this.#values.length > this.#most) this.#values.shift();
    return value;
  }

  clear(): void {
    this.#values.length = 0;
  }
}
