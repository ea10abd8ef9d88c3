import { slicesOfRanks } from '@ringrun/collectives';
import type { DistributedParameter, ProcessGroup } from '@ringrun/core';

/** Views of the memory of a bucket, on one rank. */
export interface BucketViews {
  /** The gradients, then `uses`, then `weight`: the input of one all-reduce. Allocated by the process group. */
  readonly data: Float32Array;
  /** The gradients without `uses` and `weight`. */
  readonly gradients: Float32Array;
  /** The gradient of each parameter: views of `gradients`. */
  readonly gradientViews: readonly Float32Array[];
  /**
   * One number per parameter: 1 if this rank's loss has depended on it since the last average, else 0. After
   * the all-reduce it is 0 only if no rank used the parameter.
   */
  readonly uses: Float32Array;
  /** One number: the weight of this rank's gradients. Its average is the divisor of the averaged gradients. */
  readonly weight: Float32Array;
  /** `uses` and `weight`: everything after the gradients. */
  readonly tail: Float32Array;
}

/** Gradients that are contiguous in memory and averaged by one all-reduce. */
export interface Bucket extends BucketViews {
  /** Position in the order in which buckets are averaged. */
  readonly index: number;
  readonly parameters: readonly DistributedParameter[];
  /**
   * A copy of `data` before the all-reduce, to repeat it, also allocated by the process group. Undefined without fault
   * tolerance.
   */
  readonly local: Float32Array | undefined;
}

/**
 * Allocates memory for the gradients of `parameters`, in this order. A collective.
 *
 * @param isRepeatable whether to allocate `local`
 */
export function allocateBucket(
  group: ProcessGroup,
  index: number,
  parameters: readonly DistributedParameter[],
  isRepeatable = false,
): Bucket {
  const length = parameters.reduce((sum, { data }) => sum + data.length, 0);
  const data = group.allocateSync('float32', length + parameters.length + 1);
  return {
    ...viewsOf(data, parameters),
    index,
    parameters,
    local: isRepeatable ? group.allocateSync('float32', data.length) : undefined,
  };
}

/** The memory of a bucket on each rank, in the order of the ranks. Undefined unless all ranks share memory. */
export function bucketOnRanks(group: ProcessGroup, bucket: Bucket): readonly BucketViews[] | undefined {
  return slicesOfRanks(group, bucket.data)?.map((data) => viewsOf(data, bucket.parameters));
}

function viewsOf(data: Float32Array, parameters: readonly DistributedParameter[]): BucketViews {
  const gradientViews: Float32Array[] = [];
  let length = 0;
  for (const { data: elements } of parameters) {
    gradientViews.push(data.subarray(length, length + elements.length));
    length += elements.length;
  }
  const tail = data.subarray(length);
  return {
    data,
    gradients: data.subarray(0, length),
    gradientViews,
    uses: tail.subarray(0, parameters.length),
    weight: tail.subarray(parameters.length),
    tail,
  };
}

/** Multiplies this rank's gradients by its weight. */
export function applyWeight({ gradients }: Bucket, weight: number): void {
  if (weight === 1) return;
  for (let i = 0; i < gradients.length; i += 1) gradients[i] *= weight;
}

/** Turns the average over ranks into the weighted average. */
export function divideByWeight({ gradients, weight: [mean] }: Bucket): void {
  if (mean === 1) return;
  for (let i = 0; i < gradients.length; i += 1) gradients[i] /= mean;
}
