import type { Way } from './ways.ts';

/** A training step without communication, and its parts. */
export interface Step {
  /** Seconds of forward, backward and optimizer. */
  seconds: number;
  /** Seconds of an outer step of DiLoCo on all parameters, without their exchange. Default: 0. */
  outerSeconds?: number;
  /** Seconds of the all-reduce that precedes the gradients of a hook. Default: 0. */
  marksSeconds?: number;
  modelBytes: number;
  bucketBytes: number;
  /** DDP's first bucket is small, so that its exchange starts early. Default: 1 MiB (firstBucketCapMb). */
  firstBucketBytes?: number;
}

/** Seconds of the exchange of `bytes` of float32, after `idle` seconds without another one. */
export type ExchangeSeconds = (bytes: number, idle: number) => number;

/** Of a step: backward takes twice as long as forward. */
const forwardShare = 1 / 3;

/** Seconds of one step, on average. */
export function stepSeconds(way: Way, step: Step, exchange: ExchangeSeconds): number {
  return way.local === undefined
    ? averagedStep(step, exchange)
    : step.seconds + waitingPerStep(way.local, step, exchange);
}

/** Buckets are exchanged one after the other, each when backward has filled it. */
function averagedStep(
  { seconds, marksSeconds = 0, modelBytes, bucketBytes, firstBucketBytes }: Step,
  exchange: ExchangeSeconds,
): number {
  const forward = forwardShare * seconds;
  let filled = 0;
  let end = 0;
  for (const bytes of bucketsOf(modelBytes, bucketBytes, firstBucketBytes)) {
    filled += bytes;
    const ready = forward + ((seconds - forward) * filled) / modelBytes;
    const isFirst = end === 0;
    // After a step, links are idle while the next one computes.
    const idle = isFirst ? ready : Math.max(ready - end, 0);
    end = Math.max(ready, end) + (isFirst ? marksSeconds : 0) + exchange(bytes, idle);
  }
  return Math.max(end, seconds);
}

/** Sizes of DDP's buckets. */
export function bucketsOf(modelBytes: number, bucketBytes: number, firstBucketBytes = 2 ** 20): number[] {
  const first = Math.min(firstBucketBytes, bucketBytes, modelBytes);
  const rest = modelBytes - first;
  const full = Math.floor(rest / bucketBytes);
  const last = rest - full * bucketBytes;
  return [first, ...new Array<number>(full).fill(bucketBytes), ...(last > 0 ? [last] : [])];
}

/** A fragment's exchange ends during the overlap, or training waits for it. */
function waitingPerStep(
  { innerSteps, fragments, overlapSteps }: NonNullable<Way['local']>,
  { seconds, outerSeconds = 0, modelBytes }: Step,
  exchange: ExchangeSeconds,
): number {
  const idle = (innerSteps / fragments) * seconds;
  const waiting = Math.max(exchange(modelBytes / fragments, idle) - overlapSteps * seconds, 0);
  return (waiting * fragments + outerSeconds) / innerSteps;
}
