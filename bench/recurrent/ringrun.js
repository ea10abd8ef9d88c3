// Forward and backward passes of a recurrent layer: `node ringrun.js KIND L N INPUT HIDDEN STEPS`. Prints JSON: the
// milliseconds of the first pass, which compiles, and per later pass its milliseconds and those of the processor.
import { F, manualSeed, nn, tensor } from '@ringrun/nn';

const [kind, ...numbers] = process.argv.slice(2);
const [length, rows, input, hidden, steps] = numbers.map(Number);
manualSeed(1);
const network = new nn[kind](input, hidden);
const head = new nn.Linear(hidden, 4);
const x = Float32Array.from({ length: length * rows * input }, (_, index) => Math.sin(index));
const classes = BigInt64Array.from({ length: rows }, (_, row) => BigInt(row % 4));

async function pass() {
  network.zeroGrad();
  head.zeroGrad();
  const [output] = network.forward(tensor(x, [length, rows, input]));
  const loss = F.crossEntropy(head.forward(output.at(-1)), tensor(classes));
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
console.log(
  JSON.stringify({ loss: await pass(), first, milliseconds, processor: (user + system) / 1e3 / steps }),
);
