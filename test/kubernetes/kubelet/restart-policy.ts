import type { PodSpec } from 'kubernetes-types/core/v1.js';

/** Whether a container that has ended starts again. */
export function restarts(policy: PodSpec['restartPolicy'], exitCode: number): boolean {
  return policy === 'Never' ? false : policy === 'OnFailure' ? exitCode !== 0 : true;
}

/** Delay before a restart, in milliseconds: the kubelet's, none for the first one, then 10 s, 20 s, … up to 5 minutes. */
export function restartDelayMs(restartCount: number): number {
  return restartCount <= 1 ? 0 : Math.min(10_000 * 2 ** (restartCount - 2), 300_000);
}
