import type { ProcessGroup } from '@ringrun/collectives';
import type { DistributedParameter } from './distributed-module.ts';

/** Gradients that lie side by side and are averaged together. */
export interface Bucket {
  /** Place in the order in which buckets are averaged. */
  readonly index: number;
  /** The gradients, and behind them `uses`: what one all-reduce averages. In the group's memory. */
  readonly data: Float32Array;
  /** The gradients alone, side by side. */
  readonly gradients: Float32Array;
  readonly parameters: readonly DistributedParameter[];
  /** The gradient of each parameter: views of `gradients`. */
  readonly places: readonly Float32Array[];
  /**
   * For each parameter 1 where this rank's loss has depended on it since the last average, else 0. Averaged with the gradients, it is 0 where no
   * rank's has.
   */
  readonly uses: Float32Array;
  /** What lies behind the gradients: `uses`. */
  readonly tail: Float32Array;
  /** Gradients of the present backward pass that are not there yet. */
  missing: Set<DistributedParameter>;
}

/** Memory for the gradients of `parameters`, in their order; a collective. */
export function allocateBucket(
  group: ProcessGroup,
  index: number,
  parameters: readonly DistributedParameter[],
): Bucket {
  const length = parameters.reduce((sum, { data }) => sum + data.length, 0);
  const data = group.allocateSync('float32', length + parameters.length);
  const gradients = data.subarray(0, length);
  const tail = data.subarray(length);
  return {
    index,
    data,
    gradients,
    parameters,
    places: divide(gradients, parameters),
    uses: tail.subarray(0, parameters.length),
    tail,
    missing: new Set(parameters),
  };
}

function divide(gradients: Float32Array, parameters: readonly DistributedParameter[]): Float32Array[] {
  let offset = 0;
  return parameters.map(({ data }) => {
    const place = gradients.subarray(offset, offset + data.length);
    offset += data.length;
    return place;
  });
}
