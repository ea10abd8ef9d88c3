// Prints the losses of the MNIST CNN: `node losses.js STEPS`. The archive has those of the CPU.
import { trainingOf } from './trainings.js';

const steps = Number(process.argv[2]);
const { step, batches } = trainingOf('mnist');
const losses = [];
for (let i = 0; i < steps; i += 1) losses.push(await (await step(...batches[i % batches.length])).item());
console.log(JSON.stringify(losses));
