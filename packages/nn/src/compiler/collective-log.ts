import type { CollectiveGroup } from '../graph/attributes.ts';
import type { ReplaceGroup } from './compile.ts';

/**
 * Records the results of a run's collectives, so that the same graph can run again without the other ranks. Both runs have
 * the same order of collectives, so results need no names.
 */
export class CollectiveLog {
  readonly #results: Float32Array[] = [];

  /** Returns a group that runs collectives and records their results. */
  readonly record: ReplaceGroup = (group) => {
    const record = (result: Parameters<CollectiveGroup['allReduce']>[0]) => {
      this.#results.push(Float32Array.from(result as Float32Array));
    };
    return {
      rank: group.rank,
      size: group.size,
      allReduce: async (tensor, options) => {
        await group.allReduce(tensor, options);
        record(tensor);
      },
      allGather: async (output, input, options) => {
        await group.allGather(output, input, options);
        record(output as Float32Array);
      },
    };
  };

  /** Returns a group that returns the recorded results in order. */
  readonly replay: ReplaceGroup = ({ rank, size }) => {
    const play = (into: unknown) => {
      (into as Float32Array).set(this.#results.shift()!);
      return Promise.resolve();
    };
    return { rank, size, allReduce: play, allGather: play };
  };
}
