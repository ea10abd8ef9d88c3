import type { ProcessGroup } from '@ringrun/collectives';
import type { DistributedParameter } from './distributed-module.ts';

/** Gradients that lie side by side and are averaged together. */
export interface Bucket {
  /** Place in the order in which buckets are averaged. */
  readonly index: number;
  /** The gradients, and behind them `uses` and `weight`: what one all-reduce averages. In the group's memory. */
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
  /** One number: how much this rank's gradients count. Averaged, it says what to divide by. */
  readonly weight: Float32Array;
  /** What lies behind the gradients: `uses` and `weight`. */
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
  const data = group.allocateSync('float32', length + parameters.length + 1);
  const gradients = data.subarray(0, length);
  const tail = data.subarray(length);
  return {
    index,
    data,
    gradients,
    parameters,
    places: divide(gradients, parameters),
    uses: tail.subarray(0, parameters.length),
    weight: tail.subarray(parameters.length),
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

/** Lets the gradients count as much as `weight`. */
export function weigh({ gradients, weight: own }: Bucket, weight: number): void {
  own[0] = weight;
  if (weight === 1) return;
  for (let i = 0; i < gradients.length; i += 1) gradients[i] *= weight;
}

/** Makes an average over the ranks one over their weights. */
export function divideByWeight({ gradients, weight: [mean] }: Bucket): void {
  if (mean === 1) return;
  for (let i = 0; i < gradients.length; i += 1) gradients[i] /= mean;
}
