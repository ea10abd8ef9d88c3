import { relative } from 'node:path';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** Where files start processes and train, in the order in which they begin; all others come after these. */
const slow = [
  /^packages\/collectives\/test\/con/,
  /^test\//,
  /^native\//,
  /^packages\/(collectives|runtime)\//,
];

/**
 * Begins with the slow folders. Where vitest has not seen yet how long a file takes, as on a fresh clone, it begins with the largest files, and some of the
 * slowest are small: one that begins last leaves processors without work.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => this.#placeOf(a) - this.#placeOf(b));
  }

  #placeOf({ moduleId }: TestSpecification): number {
    const path = relative(this.ctx.config.root, moduleId);
    const place = slow.findIndex((folder) => folder.test(path));
    return place < 0 ? slow.length : place;
  }
}
