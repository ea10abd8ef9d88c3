import { maxRecentPoints, maxScalars } from '@ringrun/launcher';
import type { RankScalar } from '@ringrun/launcher';

/** The last points of each scalar, in bounded memory. */
export class RecentScalars {
  readonly #byName = new Map<string, { count: number; points: [step: number, value: number][] }>();

  /** Returns whether there is room: names after the first 64 are left out. */
  add(name: string, value: number, step: number): boolean {
    let scalar = this.#byName.get(name);
    if (scalar === undefined) {
      if (this.#byName.size >= maxScalars) return false;
      scalar = { count: 0, points: [] };
      this.#byName.set(name, scalar);
    }
    scalar.count += 1;
    scalar.points.push([step, value]);
    if (scalar.points.length > maxRecentPoints) scalar.points.shift();
    return true;
  }

  get list(): RankScalar[] {
    return [...this.#byName].map(([name, { count, points }]) => ({ name, count, points }));
  }
}
