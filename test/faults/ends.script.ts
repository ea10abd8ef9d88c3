// One rank of a job that ends in a way of fixtures/ways-to-end.ts. Arguments: the way, `sums` or `training`, and a folder.
// `training` survives deaths.
import {
  allReduce,
  DistributedDataParallel,
  destroyProcessGroup,
  getWorldSize,
  initProcessGroup,
  PeerDiedError,
} from 'ringrun';
import { dies, hasDied, markDeath, waysToEnd } from './fixtures/ways-to-end.ts';
import type { Moment } from './fixtures/ways-to-end.ts';

const [name, loop, folder] = process.argv.slice(2);
const rank = Number(process.env['RANK']);
const way = waysToEnd[name];
const { at = 'step', who = 'rank 1' } = way;
const isReplacement = hasDied(folder);
const [stepCount, lastStep] = [8, 5];

/** Ends this process if it ends at this moment. Returns whether its script ends here. */
async function reach(moment: Moment): Promise<boolean> {
  if (isReplacement) {
    if (who === 'replacement' && moment === 'start') await way.act();
    return false;
  }
  if (who === 'survivors' || who === 'replacement') {
    if (moment !== 'step' || rank !== 1) return false;
    markDeath(folder);
    await (way.first ?? dies)();
  }
  if (moment !== at || (who === 'rank 1' && rank !== 1)) return false;
  return (await way.act()) === 'ends';
}

/** Returns whether the script ends in its middle. */
async function addUp(): Promise<boolean> {
  for (let step = 1; step <= stepCount; step += 1) {
    if (step === lastStep && (await reach('step'))) return true;
    await allReduce(new Float32Array(step));
  }
  return false;
}

/** The same for a training that continues when ranks die. */
async function train(): Promise<boolean> {
  const { lossOf, newNet, newOptimizer } = await import('../fixtures/recoverable-training.js');
  let steps = 0;
  const ddp = new DistributedDataParallel(newNet(), { faultTolerance: 'shrink' });
  const optimizer = newOptimizer(ddp.parameters());
  const counter = {
    stateDict: () => ({ steps }),
    loadStateDict: (state: { steps: number }) => {
      ({ steps } = state);
    },
  };
  await ddp.shareState({ optimizer, counter });
  while (steps < stepCount) {
    if (steps + 1 === lastStep && (await reach('step'))) return true;
    optimizer.zeroGrad();
    await lossOf(ddp, rank, steps + 1).backward();
    await optimizer.step();
    steps += 1;
    if (who === 'survivors' && getWorldSize() < 3) await way.act();
  }
  return false;
}

async function run(): Promise<void> {
  await reach('start');
  await initProcessGroup({ timeoutMs: 4000 });
  await reach('formed');
  if (await (loop === 'sums' ? addUp() : train())) return;
  await reach('end');
  await destroyProcessGroup();
  await reach('destroyed');
}

try {
  await run();
} catch (error) {
  if (who === 'survivors' && error instanceof PeerDiedError) await way.act(error);
  throw error;
}
