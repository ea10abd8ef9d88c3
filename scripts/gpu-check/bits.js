// Prints a hash of all losses and parameters of each training after some steps: `node bits.js STEPS [NAME…]`. The same bits with
// CUDA_LAUNCH_BLOCKING=1, which launches each command, as with graphs, which are replayed from the third step on.
import { createHash } from 'node:crypto';
import { names, trainingOf } from './trainings.js';

const [steps, ...chosen] = process.argv.slice(2);
const hashes = {};
for (const name of chosen.length > 0 ? chosen : names) {
  const { model, step, batches } = trainingOf(name);
  const hash = createHash('sha256');
  for (let i = 0; i < Number(steps); i += 1) {
    hash.update(Float32Array.of(await (await step(...batches[i % 2])).item()));
  }
  for (const [, { data }] of model.namedParameters()) hash.update(data);
  hashes[name] = hash.digest('hex').slice(0, 16);
}
console.log(JSON.stringify(hashes));
