import type { Engine } from '../tensorflow.ts';

/** Why TensorFlow.js computes slower than it could in this process, and how to fix it; undefined if it does not. */
export function slownessOf(
  { backendName, backend }: Pick<Engine, 'backendName' | 'backend'>,
  rank: number,
): string | undefined {
  // All ranks run the same program, so rank 0 prints for all.
  if (backendName === 'cpu') return rank === 0 ? plainJavaScript : undefined;
  const { isGPUPackage, isUsingGpuDevice } = backend as Partial<
    Record<'isGPUPackage' | 'isUsingGpuDevice', boolean>
  >;
  // Hosts differ in their GPUs, so every rank prints.
  return isGPUPackage === true && isUsingGpuDevice === false ? withoutGpu(rank) : undefined;
}

// Measured on one thread of an AMD EPYC with tfjs and tfjs-node 4.22 on Node 20.
const plainJavaScript =
  "TensorFlow.js computes in plain JavaScript (backend 'cpu'), on one thread: a step of the MNIST CNN with 8 images takes about 3 s, " +
  'instead of about 11 ms with @tensorflow/tfjs-node. Install @tensorflow/tfjs-node or @tensorflow/tfjs-node-gpu and import it instead of @tensorflow/tfjs.';

function withoutGpu(rank: number): string {
  const shown = process.env['CUDA_VISIBLE_DEVICES'];
  return (
    `rank ${rank}: @tensorflow/tfjs-node-gpu found no GPU (CUDA_VISIBLE_DEVICES${shown === undefined ? ' is unset' : `=${shown}`}) and computes on the CPU. ` +
    'Install the NVIDIA driver, CUDA and cuDNN if the TensorFlow lines above report them missing, or import @tensorflow/tfjs-node.'
  );
}
