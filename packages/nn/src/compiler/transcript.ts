import type { CollectiveGroup } from '../graph/operators.ts';
import type { Through } from './compile.ts';

/**
 * What the collectives of one run gave, for another run of the same graph without the other ranks. Both run their collectives one after the other in one order, so
 * that the order is all there is to know.
 */
export class Transcript {
  readonly #results: Float32Array[] = [];

  /** A group whose results are written down. */
  readonly recording: Through = (group) => {
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

  /** A group that gives what was written down. */
  readonly replaying: Through = ({ rank, size }) => {
    const play = (into: unknown) => {
      (into as Float32Array).set(this.#results.shift()!);
      return Promise.resolve();
    };
    return { rank, size, allReduce: play, allGather: play };
  };
}
