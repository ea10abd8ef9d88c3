// One rank of a job whose ranks are killed: `kills.script.ts <folder> <after an error: end | join again>`. In rounds, it
// joins the job, resumes from the newest checkpoint, makes some steps whose results follow a formula, and leaves. It
// ends after the file <folder>/finish exists, and writes a mark for each phase that it begins to the pipe
// <folder>/marks.
import { existsSync, openSync, readFileSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Mark, Phase } from './fixtures/mark.ts';

const [folder, afterError] = process.argv.slice(2);
const { RANK, WORLD_SIZE, RINGRUN_RESTART_COUNT } = process.env;
const rank = Number(RANK);
const worldSize = Number(WORLD_SIZE);
const pipe = openSync(join(folder, 'marks'), 'w');
const incarnation = Number(RINGRUN_RESTART_COUNT ?? 0);

/** The write is synchronous, so the last mark of a killed process is the phase that it was in. */
function mark(phase: Phase, more: Partial<Mark> = {}): void {
  writeSync(pipe, `${JSON.stringify({ rank, pid: process.pid, incarnation, phase, ...more })}\n`);
}

mark('start');
const {
  Checkpointer,
  ReduceOp,
  StoreTimeoutError,
  allReduce,
  destroyProcessGroup,
  initProcessGroup,
  isInitialized,
} = await import('ringrun');
const { CallingStore } = (await import(
  new URL('../../../rendezvous/dist/bundle/store.calling-store.js', import.meta.resolve('ringrun')).href
)) as typeof import('../../packages/rendezvous/dist/store/calling-store.js');

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with the store below
const set = CallingStore.prototype.set;
CallingStore.prototype.set = async function (key, value) {
  if (key.includes('/rank-info/')) mark('forming');
  await set.call(this, key, value);
};

/** Nothing will replace the next rank that dies. */
const isAbandoned = () => existsSync(join(folder, 'abandoned'));

const stepsOfRound = 6;
const checkpointEvery = 2;
/** Element i of rank r's contribution to a step. It depends on i modulo `period` only. */
const contribution = (of: number, step: number, i: number) => (((of + 1) * (step + i)) % period) - 3;
const period = 7;
const contributions = new Float32Array(100_000);
const parameters = {
  values: new Float32Array(contributions.length),
  stateDict: () => ({ values: parameters.values }),
  loadStateDict: ({ values }: { values: Float32Array }) => {
    parameters.values.set(values);
  },
};

/** Elements 0 to `period` − 1 of the parameters after so many steps of all ranks. */
function valuesAfter(steps: number): number[] {
  const values = new Array<number>(period).fill(0);
  for (let step = 0; step < steps; step += 1) {
    for (let of = 0; of < worldSize; of += 1)
      for (let i = 0; i < period; i += 1) values[i] += contribution(of, step, i);
  }
  return values;
}

function check(steps: number): void {
  const expected = valuesAfter(steps);
  const wrong = parameters.values.findIndex((value, i) => value !== expected[i % period]);
  if (wrong < 0) return;
  const [is, was] = [parameters.values[wrong], expected[wrong % period]];
  mark('wrong', { message: `element ${wrong} after step ${steps} is ${is}, expected ${was}` });
}

/** One round; returns whether it was the last. */
async function round(): Promise<boolean> {
  mark('rendezvous');
  // The claim of a rank that was killed a moment ago is replaced after 10 s.
  await initProcessGroup({ timeoutMs: isAbandoned() ? 30_000 : 120_000 });
  parameters.values.fill(0);
  const checkpoints = new Checkpointer({ dir: join(folder, 'checkpoints'), keep: 2 });
  checkpoints.register({ parameters });
  let step = (await checkpoints.resume('auto'))?.step ?? 0;
  check(step);
  const isLast = Int32Array.of(existsSync(join(folder, 'finish')) ? 1 : 0);
  await allReduce(isLast, { op: ReduceOp.MAX });
  const end = step - (step % stepsOfRound) + stepsOfRound;
  while (step < end) {
    mark('step');
    for (let i = 0; i < contributions.length; i += 1) contributions[i] = contribution(rank, step, i);
    await allReduce(contributions);
    for (let i = 0; i < contributions.length; i += 1) parameters.values[i] += contributions[i];
    step += 1;
    check(step);
    if (step % checkpointEvery !== 0) continue;
    mark('checkpoint');
    await checkpoints.save({ step });
    await checkpoints.finished();
  }
  mark('exit');
  await destroyProcessGroup();
  const shared = readFileSync('/proc/self/maps', 'utf8').match(/memfd:ringrun/g)?.length ?? 0;
  mark('left', { step, descriptors: readdirSync('/proc/self/fd').length, shared });
  return isLast[0] === 1;
}

for (let isOver = false; !isOver;) {
  try {
    isOver = await round();
  } catch (error) {
    const { name, message } = error as Error;
    mark('error', { message: `${name}: ${message}`.slice(0, 3000) });
    if (afterError !== 'join again' || (error instanceof StoreTimeoutError && isAbandoned())) throw error;
    if (isInitialized()) await destroyProcessGroup();
  }
}
