/** An item of `Deadlines`. */
export interface Timed {
  /** Never NaN. */
  readonly deadline: number;
  /** Index in the heap, maintained by `Deadlines`. */
  position: number;
}

/** Items in the order of their deadlines: a binary heap whose items know their index, so that any can be removed. */
export class Deadlines<Item extends Timed> {
  readonly #heap: Item[] = [];

  /** The item with the earliest deadline. */
  first(): Item | undefined {
    return this.#heap.at(0);
  }

  add(item: Item): void {
    this.#place(item, this.#heap.length);
    this.#rise(item);
  }

  remove(item: Item): void {
    const last = this.#heap.pop()!;
    if (last === item) return;
    this.#place(last, item.position);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(item: Item): void {
    while (item.position > 0) {
      const parent = this.#heap[(item.position - 1) >> 1];
      if (parent.deadline <= item.deadline) return;
      this.#swap(parent, item);
    }
  }

  #sink(item: Item): void {
    for (;;) {
      const [left, right] = [this.#heap.at(2 * item.position + 1), this.#heap.at(2 * item.position + 2)];
      const child = left && right && right.deadline < left.deadline ? right : left;
      if (!child || child.deadline >= item.deadline) return;
      this.#swap(item, child);
    }
  }

  #swap(upper: Item, lower: Item): void {
    const { position } = upper;
    this.#place(upper, lower.position);
    this.#place(lower, position);
  }

  #place(item: Item, position: number): void {
    this.#heap[position] = item;
    item.position = position;
  }
}
