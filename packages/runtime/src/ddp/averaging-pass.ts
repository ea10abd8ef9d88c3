import type { GradientPass } from '@ringrun/core';
import { endOf, type BucketAverage } from './bucket-average.ts';
import type { PassPlan } from './gradient-slots.ts';
import type { AverageRecovery } from './reducer-settings.ts';

interface AveragingPassSettings {
  average: BucketAverage;
  /** Number of buckets, of which the pass may write some. */
  bucketCount: number;
  plan: PassPlan;
  /** Whether the ranks have different weights. */
  hasWeights: boolean;
  /** Whether the end of the pass needs JavaScript. */
  needsJavaScript: boolean;
  recovery: AverageRecovery | undefined;
  /** See `GradientPass.maxPasses`, for operations that start without JavaScript. */
  maxPasses: (limit: number) => number;
  /** Runs `wait`, and then ends the pass. */
  end: (wait: () => Promise<void>, waitedMs: number) => Promise<void>;
  /** Ends the pass after operations that have succeeded. Undefined if nothing runs after them. */
  endNow: (waitedMs: number, passes: number) => Promise<void> | undefined;
  abandon: GradientPass['abandon'];
}

/** A pass whose buckets are averaged over the ranks as they become ready. */
export function averagingPass({
  average,
  bucketCount,
  plan: { absent, indices },
  hasWeights,
  needsJavaScript,
  recovery,
  maxPasses,
  end,
  endNow,
  abandon,
}: AveragingPassSettings): GradientPass {
  const last = indices.at(-1) ?? 0;
  /** The number of buckets that are ready: buckets after the last one that the pass writes are ready too. */
  const readyAt = (index: number) => (index >= last ? bucketCount : index + 1);
  /** The buckets that become ready with the gradients of an index: the first, and the end. */
  const rangeAt = (index: number): [first: number, end: number] => {
    const before = indices.findLast((other) => other < index) ?? -1;
    return [before + 1, readyAt(index)];
  };
  const startable = needsJavaScript ? undefined : average.prepare();
  const onDevice = hasWeights ? undefined : average.onDevice();
  return {
    onDevice: () =>
      onDevice && {
        ...onDevice,
        readyAt: (index) => onDevice.buckets.slice(...rangeAt(index)),
        mayUpdate: !needsJavaScript,
        readsTails: absent.length > 0,
      },
    bucketReady: (index) => {
      if (recovery?.mayStartEarly() !== false) average.start(readyAt(index));
    },
    startableAt: (index) => {
      const { buckets, commit } = startable ?? {};
      const ready = buckets?.slice(...rangeAt(index));
      return commit !== undefined && index >= last ? ready?.concat(commit) : ready;
    },
    maxPasses: (limit) =>
      needsJavaScript || (startable === undefined && onDevice === undefined) ? 1 : maxPasses(limit),
    done: ({ isStarted = false, isAveraged = false, waitedMs = 0, passes = 1 } = {}) => {
      if (isAveraged) return endNow(waitedMs, passes);
      const started = isStarted ? startable : undefined;
      if (recovery !== undefined) {
        const run = async () => {
          await recovery.run(average.repeatable(started), started?.commit);
          average.hookStates?.commitStep();
        };
        return end(run, waitedMs);
      }
      if (started === undefined) return end(() => average.run(), waitedMs);
      const ended = endOf(started);
      return ended === undefined ? endNow(waitedMs, passes) : end(() => ended, waitedMs);
    },
    abandon,
  };
}
