import util from 'node:util';
import { ownDevice } from './devices.ts';
import { ownThreads } from './threads.ts';

/**
 * Prepares the process for TensorFlow.js; runs when @ringrun/tfjs is imported. Import @ringrun/tfjs first, because
 * TensorFlow reads CUDA_VISIBLE_DEVICES and TF_NUM_…_THREADS only when its package is loaded.
 */
export function prepareProcess(): void {
  restoreRemovedUtil();
  // If TensorFlow is already loaded, the variables are unchanged, and `distribute` throws ERR_DEVICES.
  if (isTensorFlowLoaded()) return;
  const device = ownDevice(process.env);
  if (device !== undefined) process.env.CUDA_VISIBLE_DEVICES = device;
  Object.assign(process.env, ownThreads(process.env));
}

function isTensorFlowLoaded(): boolean {
  return (globalThis as { _tfengine?: { backendName?: string } })._tfengine?.backendName === 'tensorflow';
}

/**
 * Restores util.isNullOrUndefined and util.isArray, which Node 23 removed. tfjs-node 4.22, the latest release, calls them
 * in nearly every operation and fails with `util_1.isNullOrUndefined is not a function` (fixed on its main branch in
 * April 2025, tensorflow/tfjs#8425). It looks the functions up at each call, so restoring them at any time works.
 */
function restoreRemovedUtil(): void {
  const functions = util as unknown as Record<string, unknown>;
  functions.isArray ??= (value: unknown) => Array.isArray(value);
  functions.isNullOrUndefined ??= (value: unknown) => value === null || value === undefined;
}
