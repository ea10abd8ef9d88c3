import util from 'node:util';
import { ownDevice } from './devices.ts';

/**
 * What a process needs before TensorFlow.js is loaded. Importing @ringrun/tfjs does it, so import it first: TensorFlow looks at CUDA_VISIBLE_DEVICES once, when its package is
 * loaded.
 */
export function prepareProcess(): void {
  const device = ownDevice(process.env);
  // Where it is too late, the environment goes on saying what is shown: `distribute` refuses that.
  if (device !== undefined && !isTensorFlowLoaded()) process.env.CUDA_VISIBLE_DEVICES = device;
  restoreRemovedUtil();
}

function isTensorFlowLoaded(): boolean {
  return (globalThis as { _tfengine?: { backendName?: string } })._tfengine?.backendName === 'tensorflow';
}

/**
 * Node 23 took away what it had deprecated in Node 4. tfjs-node 4.22, the last release, calls it in nearly every operation and fails with `util_1.isNullOrUndefined is not a
 * function`; its source was mended in April 2025 (tensorflow/tfjs#8425). It reads the function from the module at each call, so that it may come back at any time.
 */
function restoreRemovedUtil(): void {
  const functions = util as unknown as Record<string, unknown>;
  functions.isArray ??= (value: unknown) => Array.isArray(value);
  functions.isNullOrUndefined ??= (value: unknown) => value === null || value === undefined;
}
