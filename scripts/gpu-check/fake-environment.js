// Prints the variables with which the check runs over fakes on this machine, as commands of the shell.
import { fileURLToPath } from 'node:url';
import { findOnnxruntime } from '../../native/lib/onnxruntime.ts';
import { fakeComputeLibraries } from '../../native/test/fake-gpu/libraries.ts';

const library = findOnnxruntime(import.meta.url);
if ('problem' in library) throw new Error(`${library.problem}. ${library.fix}`);
const variables = {
  ...fakeComputeLibraries(),
  RINGRUN_NATIVE: fileURLToPath(new URL('../../native/build/ringrun.node', import.meta.url)),
  RINGRUN_ONNXRUNTIME_LIBRARY: library.path,
  RINGRUN_FAKE_GPU_GPUS: '1',
  RINGRUN_CHECK_FORM: 'short',
};
for (const [name, value] of Object.entries(variables)) console.log(`export ${name}='${value}'`);
