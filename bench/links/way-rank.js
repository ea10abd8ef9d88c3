// One rank of several hosts: `way-rank.js <rounds> <layers> <way>` trains layers of 1,000 × 1,000. It prints as JSON the
// seconds of a step without an exchange, and of one with it, on the slowest rank. Ways: none, a hook of `ringrun plan`, or
// DiLoCo as `diloco:<inner steps>:<fragments>:<transport>`. A round is a step, or the inner steps of DiLoCo.
import { constants, setPriority } from 'node:os';
import { F, nn, optim, randn } from '@ringrun/nn';
import {
  DiLoCo,
  DistributedDataParallel,
  ReduceOp,
  barrier,
  commHooks,
  defaultGroup,
  destroyProcessGroup,
  initProcessGroup,
} from 'ringrun';

const [rounds, layers] = process.argv.slice(2, 4).map(Number);
const way = process.argv[4];
const hooks = {
  none: () => undefined,
  bf16: () => commHooks.bf16Compress,
  int8: () => commHooks.int8Compress(),
  int4: () => commHooks.int4Compress(),
  powersgd: () => commHooks.powerSgd({ matrixApproximationRank: 1, startPowerSgdIter: 0 }),
};

// As in rank.js.
setPriority(constants.priority.PRIORITY_HIGHEST);
await initProcessGroup({ timeoutMs: 300_000 });
const modules = Array.from({ length: layers }, () => new nn.Linear(1000, 1000, { bias: false }));
const model = new nn.Sequential(...modules);
const optimizer = new optim.SGD(model.parameters(), { lr: 1e-6 });
const input = randn([4, 1000]);
const target = randn([4, 1000]);

async function secondsOfStep(steps, forward, exchange = () => undefined) {
  const step = async () => {
    optimizer.zeroGrad();
    await F.mseLoss(forward(input), target).backward();
    await optimizer.step();
    await exchange();
  };
  // Compiles, opens connections, whose windows grow for some steps, and begins the exchanges of fragments that end in the timed
  // steps.
  for (let i = 0; i < steps; i += 1) await step();
  await barrier();
  const startedAt = performance.now();
  for (let i = 0; i < steps; i += 1) await step();
  const seconds = new Float64Array([(performance.now() - startedAt) / 1000 / steps]);
  await defaultGroup().allReduce(seconds, { op: ReduceOp.MAX });
  return seconds[0];
}

async function withLocalSteps(innerSteps, fragments, transport) {
  const overlapSteps = fragments > 1 ? Math.floor(innerSteps / fragments / 2) : 0;
  const local = new DiLoCo(model, { innerSteps, fragments, overlapSteps, transport });
  const seconds = await secondsOfStep(
    rounds * innerSteps,
    (x) => local.forward(x),
    () => local.step(),
  );
  await local.synchronize();
  return seconds;
}

async function withHook(hook) {
  const ddp = new DistributedDataParallel(model, { bucketCapMb: 1 });
  if (hook !== undefined) ddp.registerCommHook(hook);
  return await secondsOfStep(rounds, (x) => ddp.forward(x));
}

const alone = await secondsOfStep(5 * rounds, (x) => model.forward(x));
const [name, innerSteps, fragments, transport] = way.split(':');
const exchanged =
  name === 'diloco'
    ? await withLocalSteps(Number(innerSteps), Number(fragments), transport)
    : await withHook(hooks[name]());
console.log(JSON.stringify([alone, exchanged]));
await destroyProcessGroup();
