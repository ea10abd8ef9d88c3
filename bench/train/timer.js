// How late a timer of 5 ms is while a model trains in one process: `node timer.js MODEL BATCH STEPS CHECKOUT`. Prints as
// JSON the milliseconds by which each timer was late, without training for 2 s and during the steps.
import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as wait } from 'node:timers/promises';
import { packagesOf } from '../support.js';
import { createModel, models, randomBatch } from './models.js';

const period = 5;
const [name, batchArgument, stepsArgument, checkout] = process.argv.slice(2);
const [batch, steps] = [batchArgument, stepsArgument].map(Number);
const load = packagesOf(checkout);
const { F, optim, tensor } = await load('@ringrun/nn');

const model = await createModel(name, load);
const optimizer = new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.5 });
const { images, classes } = randomBatch(name, batch, 0);
await step();
const idle = await latenessDuring(() => wait(2000));
const training = await latenessDuring(async () => {
  for (let i = 0; i < steps; i += 1) await step();
});
console.log(JSON.stringify({ idle, training }));

async function step() {
  const scores = model.forward(tensor(images, [batch, ...models[name].shape]));
  optimizer.zeroGrad();
  await F.nllLoss(scores, tensor(classes)).backward();
  await optimizer.step();
}

async function latenessDuring(run) {
  const late = [];
  let timer;
  let due = 0;
  const start = () => {
    due = performance.now() + period;
    timer = setTimeout(() => {
      late.push(performance.now() - due);
      start();
    }, period);
  };
  start();
  await run();
  clearTimeout(timer);
  // Counts the timer that was still pending when the run ended.
  late.push(Math.max(0, performance.now() - due));
  return late;
}
