import { relative } from 'node:path';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** Folders whose tests start processes and train, in starting order; all others follow. */
const slow = [
  /^packages\/collectives\/test\/con/,
  /^test\//,
  /^native\//,
  /^packages\/(collectives|rendezvous|launcher|runtime)\//,
];

/**
 * Starts with the slow folders. On a fresh clone vitest does not know the durations and starts with the largest files,
 * but some of the slowest are small, and a slow file that starts last leaves processors idle.
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
