import type { GradientPass } from '@ringrun/core';
import type { SharedParameters } from './shared-parameters.ts';

interface UnaveragedPassSettings {
  sharing: SharedParameters;
  /** Index of the last bucket that the pass writes. */
  last: number;
  /** Whether the end of the pass needs JavaScript. */
  needsJavaScript: boolean;
  /** Runs `wait`, and then ends the pass. */
  end: (wait: () => Promise<void> | undefined, waitedMs: number) => Promise<void>;
  abandon: GradientPass['abandon'];
}

/**
 * A pass whose gradients the update averages, each rank those of its own part. It ends with a barrier, after which all
 * ranks have written their gradients and no rank reads the parameters. After the barrier that follows the update, the
 * ranks may write again.
 */
export function unaveragedPass({
  sharing,
  last,
  needsJavaScript,
  end,
  abandon,
}: UnaveragedPassSettings): GradientPass {
  const barrier = needsJavaScript ? undefined : sharing.prepareSynchronize();
  let arrived: Promise<void> | undefined;
  const arrive = () => {
    arrived ??= sharing.synchronize();
    // The promise may reject long before the pass awaits it.
    arrived.catch(() => undefined);
    return arrived;
  };
  return {
    updateAverages: true,
    bucketReady: (index) => {
      if (index >= last) void arrive();
    },
    startableAt: (index) => barrier && (index >= last ? [barrier] : []),
    done: ({ isStarted = false, waitedMs = 0 } = {}) =>
      end(() => (isStarted ? barrier!.ended() : arrive()), waitedMs),
    abandon,
  };
}
