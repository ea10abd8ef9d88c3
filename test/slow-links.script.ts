// One rank of several hosts: `slow-links.script.ts <plan>` trains a GPT in several ways in turns, a block of steps of each. It prints as
// JSON, for each way, the seconds of the steps of each block on the slowest rank, and a digest of the parameters that the ranks have in
// common at the end.
import { constants, setPriority } from 'node:os';
import { GPT, characterCorpus, lossOf, syntheticText, Windows } from '@ringrun/examples-gpt';
import { compileStep, manualSeed, optim, tensor, type Tensor } from '@ringrun/nn';
import {
  DiLoCo,
  DistributedDataParallel,
  ReduceOp,
  allReduce,
  barrier,
  commHooks,
  destroyProcessGroup,
  getRank,
  initProcessGroup,
  verifyIdenticalParameters,
} from 'ringrun';
import type { SlowLinksPlan, WayOfTraining } from './fixtures/slow-links.ts';

const { ways, blocks, width, layers } = JSON.parse(process.argv[2]) as SlowLinksPlan;
const [batch, context] = [12, 64];

const { characters, train } = characterCorpus(syntheticText());
const windows = Windows.scattered(train, context);

function start({ sync, diloco, hook, steps }: WayOfTraining) {
  manualSeed(1);
  const gpt = new GPT({ vocabSize: characters.length, context, layers, heads: 4, width });
  const model: { forward(tokens: Tensor): Tensor } =
    sync === 'ddp'
      ? new DistributedDataParallel(gpt, { verifyEvery: 0 })
      : sync === 'diloco'
        ? new DiLoCo(gpt, diloco)
        : gpt;
  if (hook !== undefined && model instanceof DistributedDataParallel)
    model.registerCommHook(hook === 'int8Compress' ? commHooks.int8Compress() : commHooks[hook]);
  const optimizer = new optim.AdamW([...gpt.parameters()], { lr: 1e-3 });
  const trainOn = compileStep(optimizer, (input: Tensor, target: Tensor) => lossOf(model, input, target));
  let done = 0;
  const step = async () => {
    const [input, target] = [0, 1].map(() => new BigInt64Array(batch * context));
    for (let i = 0; i < batch; i += 1) {
      const sample = windows.at((done * batch + i) * 64 + getRank());
      input.set(sample.input, i * context);
      target.set(sample.target, i * context);
    }
    await trainOn(tensor(input, [batch, context]), tensor(target, [batch, context]));
    if (model instanceof DiLoCo) await model.step();
    done += 1;
  };
  return { gpt, model, step, steps, untimed: diloco?.overlapSteps ?? 0, seconds: [] as number[] };
}

// A high priority, so that hosts do not wait for processors. The addon's threads start later and inherit it.
setPriority(constants.priority.PRIORITY_HIGHEST);
await initProcessGroup();
const trainings = Object.entries(ways).map(([name, way]) => [name, start(way)] as const);
for (let block = -1; block < blocks; block += 1) {
  for (const [, { step, steps, untimed, seconds }] of trainings) {
    // The first block compiles, and opens connections.
    const count = block < 0 ? Math.min(steps, 4) : steps;
    // An exchange of the last block has been under way while others trained.
    if (block >= 0) for (let i = 0; i < untimed; i += 1) await step();
    await barrier();
    const startedAt = performance.now();
    for (let i = 0; i < count; i += 1) await step();
    if (block >= 0) seconds.push((performance.now() - startedAt) / 1000);
    await barrier();
  }
}
const report: Record<string, object> = {};
for (const [name, { gpt, model, steps, seconds }] of trainings) {
  const longest = Float64Array.from(seconds);
  await allReduce(longest, { op: ReduceOp.MAX });
  if (model instanceof DiLoCo) await model.synchronize();
  const digest = model === gpt ? '' : await verifyIdenticalParameters(gpt);
  report[name] = { steps, seconds: [...longest], digest };
}
console.log(JSON.stringify(report));
await destroyProcessGroup();
