/** Memory that is needed from the first to the last step of a program, both included. */
export interface Lifetime {
  readonly bytes: number;
  readonly first: number;
  readonly last: number;
}

/** Places of values in the memory of a program. */
export interface ArenaPlan {
  /** In bytes, one for each lifetime. */
  readonly offsets: readonly number[];
  readonly bytes: number;
}

/** Of every address, so that a kernel may read 16 bytes at once and a library finds the alignment that it prefers. */
export const alignment = 256;

/**
 * Places values so that those which live at the same time do not overlap: in the order of their first steps, each in the smallest
 * gap that holds it.
 */
export function planArena(lifetimes: readonly Lifetime[]): ArenaPlan {
  const offsets = lifetimes.map(() => 0);
  const births = [...lifetimes.keys()].sort(
    (a, b) => lifetimes[a].first - lifetimes[b].first || lifetimes[b].bytes - lifetimes[a].bytes,
  );
  const deaths = [...lifetimes.keys()].sort((a, b) => lifetimes[a].last - lifetimes[b].last);
  const gaps = new Gaps();
  let died = 0;
  for (const birth of births) {
    for (; lifetimes[deaths[died]].last < lifetimes[birth].first; died += 1) {
      const { bytes } = lifetimes[deaths[died]];
      gaps.free(offsets[deaths[died]], aligned(bytes));
    }
    offsets[birth] = gaps.take(aligned(lifetimes[birth].bytes));
  }
  return { offsets, bytes: gaps.end };
}

export function aligned(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

/** Free memory before the end, in the order of offsets, no two adjacent. */
class Gaps {
  end = 0;
  readonly #gaps: { offset: number; bytes: number }[] = [];

  take(bytes: number): number {
    let best: number | undefined;
    for (const [index, gap] of this.#gaps.entries()) {
      if (gap.bytes >= bytes && (best === undefined || gap.bytes < this.#gaps[best].bytes)) best = index;
    }
    if (best === undefined) return this.#extend(bytes);
    const gap = this.#gaps[best];
    const { offset } = gap;
    gap.offset += bytes;
    gap.bytes -= bytes;
    if (gap.bytes === 0) this.#gaps.splice(best, 1);
    return offset;
  }

  free(offset: number, bytes: number): void {
    if (bytes === 0) return;
    const found = this.#gaps.findIndex((gap) => gap.offset > offset);
    const index = found < 0 ? this.#gaps.length : found;
    this.#gaps.splice(index, 0, { offset, bytes });
    this.#merge(index);
    if (index > 0) this.#merge(index - 1);
  }

  #merge(index: number): void {
    const gap = this.#gaps[index];
    const next = this.#gaps.at(index + 1);
    if (next === undefined || gap.offset + gap.bytes !== next.offset) return;
    gap.bytes += next.bytes;
    this.#gaps.splice(index + 1, 1);
  }

  /** Takes a gap at the end, and what it lacks after the end. */
  #extend(bytes: number): number {
    const last = this.#gaps.at(-1);
    const reachesEnd = last !== undefined && last.offset + last.bytes === this.end;
    const offset = reachesEnd ? last.offset : this.end;
    if (reachesEnd) this.#gaps.pop();
    this.end = offset + bytes;
    return offset;
  }
}
