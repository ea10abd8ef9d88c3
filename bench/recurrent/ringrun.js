// Forward and backward passes of a recurrent layer: `node ringrun.js MODE KIND L N INPUT HIDDEN STEPS`. MODE is
// float32 or bf16 (autocast). Prints JSON: the milliseconds of the first pass, which compiles, per later pass its
// milliseconds and those of the processor, and the peak memory in bytes.
import * as ringrunNn from '@ringrun/nn';
import { peakMemory, withAutocast } from '../support.js';

const { F, manualSeed, nn, tensor } = ringrunNn;
const [mode, kind, ...numbers] = process.argv.slice(2);
const [length, rows, input, hidden, steps] = numbers.map(Number);
manualSeed(1);
const network = new nn[kind](input, hidden);
const head = new nn.Linear(hidden, 4);
const x = Float32Array.from({ length: length * rows * input }, (_, index) => Math.sin(index));
const classes = BigInt64Array.from({ length: rows }, (_, row) => BigInt(row % 4));

async function pass() {
  network.zeroGrad();
  head.zeroGrad();
  const loss = withAutocast(ringrunNn, mode === 'bf16', () => {
    const [output] = network.forward(tensor(x, [length, rows, input]));
    return F.crossEntropy(head.forward(output.at(-1)), tensor(classes));
  });
  await loss.backward();
  return loss.item();
}

const created = performance.now();
await pass();
const first = performance.now() - created;
await pass();
const [began, used] = [performance.now(), process.cpuUsage()];
for (let step = 0; step < steps; step += 1) await pass();
const { user, system } = process.cpuUsage(used);
const milliseconds = (performance.now() - began) / steps;
const figures = { first, milliseconds, processor: (user + system) / 1e3 / steps, memory: peakMemory() };
console.log(JSON.stringify({ loss: await pass(), ...figures }));
