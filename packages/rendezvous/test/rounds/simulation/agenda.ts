interface Entry {
  readonly at: number;
  readonly order: number;
  readonly act: () => void;
}

/** Scheduled events in the order of their time. Events take no time themselves. */
export class Agenda {
  now = 0;
  readonly #heap: Entry[] = [];
  #count = 0;

  after(delay: number, act: () => void): void {
    this.#push({ at: this.now + Math.max(0, delay), order: this.#count++, act });
  }

  /** Runs all events before `end`. */
  runUntil(end: number, isOver: () => boolean): void {
    while (!isOver() && this.runNext(end));
  }

  /** Runs the next event, if it is before `end`. */
  runNext(end: number): boolean {
    if (this.#heap.length === 0 || this.#heap[0].at > end) return false;
    const entry = this.#pop();
    this.now = entry.at;
    entry.act();
    return true;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let place = heap.push(entry) - 1;
    while (place > 0 && isBefore(entry, heap[(place - 1) >> 1])) {
      heap[place] = heap[(place - 1) >> 1];
      place = (place - 1) >> 1;
    }
    heap[place] = entry;
  }

  #pop(): Entry {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop()!;
    let place = 0;
    while (2 * place + 1 < heap.length) {
      const left = 2 * place + 1;
      const least = left + 1 < heap.length && isBefore(heap[left + 1], heap[left]) ? left + 1 : left;
      if (!isBefore(heap[least], last)) break;
      heap[place] = heap[least];
      place = least;
    }
    if (heap.length > 0) heap[place] = last;
    return first;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
