import type { ProcessGroup } from 'ringrun';
import { devicesProblem } from './process/devices.ts';
import { TfjsError } from './errors.ts';
import { engine } from './tensorflow.ts';

let told = false;

/**
 * Says once, on rank 0, that TensorFlow.js computes without its native library, and what that costs.
 *
 * @throws TfjsError `ERR_DEVICES` where tfjs-node-gpu computes and this rank has no GPU of its own
 */
export function sayWhatTheBackendCosts({ rank }: Pick<ProcessGroup, 'rank'>): void {
  const { backendName, backend } = engine();
  const { isGPUPackage } = backend as { isGPUPackage?: boolean };
  const problem = isGPUPackage === true ? devicesProblem(process.env) : undefined;
  if (problem !== undefined) throw new TfjsError('ERR_DEVICES', `distribute: ${problem}`);
  if (told || rank !== 0 || backendName !== 'cpu') return;
  told = true;
  // Measured on one thread of an AMD EPYC: tfjs 4.22 in Node 20; PyTorch 1.13 for the native library, as tfjs-node cannot be had without a download from outside npm.
  process.stderr.write(
    "ringrun: TensorFlow.js computes in plain JavaScript (backend 'cpu'), on one thread: a step of the MNIST CNN with 8 images takes some 3 s, where native libraries take " +
      'some 3 ms. Install @tensorflow/tfjs-node, or @tensorflow/tfjs-node-gpu, and import it in place of @tensorflow/tfjs. (said once)\n',
  );
}
