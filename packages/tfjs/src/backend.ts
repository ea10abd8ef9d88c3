import type { ProcessGroup } from 'ringrun';
import { devicesProblem } from './process/devices.ts';
import { TfjsError } from './errors.ts';
import { engine } from './tensorflow.ts';

let hasWarned = false;

/**
 * Warns once, on rank 0, that TensorFlow.js computes without its native library.
 *
 * @throws TfjsError `ERR_DEVICES` if tfjs-node-gpu is used and this rank does not have its own GPU
 */
export function checkBackend({ rank }: Pick<ProcessGroup, 'rank'>): void {
  const { backendName, backend } = engine();
  const { isGPUPackage } = backend as { isGPUPackage?: boolean };
  const problem = isGPUPackage === true ? devicesProblem(process.env) : undefined;
  if (problem !== undefined) throw new TfjsError('ERR_DEVICES', `distribute: ${problem}`);
  if (hasWarned || rank !== 0 || backendName !== 'cpu') return;
  hasWarned = true;
  // Measured on one thread of an AMD EPYC: tfjs 4.22 on Node 20. PyTorch 1.13 stands for the native library, since
  // tfjs-node requires a download from outside npm.
  process.stderr.write(
    "ringrun: TensorFlow.js computes in plain JavaScript (backend 'cpu'), on one thread: a step of the MNIST CNN with 8 images takes about 3 s, " +
      'instead of about 3 ms with native libraries. Install @tensorflow/tfjs-node or @tensorflow/tfjs-node-gpu and import it instead of @tensorflow/tfjs. (printed once)\n',
  );
}
