// One rank of a training that survives deaths up to its end: `shrink.script.ts <folder> <steps>`. A process writes a mark for each
// phase that it begins to the pipe <folder>/marks, and its result after it has left the job. The file <folder>/pauses.json says how
// long a replacement waits before it starts, a step pauses, and writing the result takes, in milliseconds.
import { existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Mark, Phase } from './fixtures/mark.ts';
import type { ShrinkPauses } from './fixtures/shrink-pauses.ts';

const [folder, steps] = process.argv.slice(2);
const rank = Number(process.env['RANK']);
const pipe = openSync(join(folder, 'marks'), 'w');

/** The write is synchronous, so the last mark of a killed process is the phase that it was in. */
function mark(phase: Phase, more: Partial<Mark> = {}): void {
  writeSync(pipe, `${JSON.stringify({ rank, pid: process.pid, incarnation: 0, phase, ...more })}\n`);
}

const begun = join(folder, `begun-${rank}`);
const isReplacement = existsSync(begun);
writeFileSync(begun, '');
mark('start');
const pauses = JSON.parse(readFileSync(join(folder, 'pauses.json'), 'utf8')) as ShrinkPauses;
if (isReplacement) await setTimeout(pauses.replacementMs);
const { DistributedDataParallel, destroyProcessGroup, initProcessGroup } = await import('ringrun');
const { lossOf, newNet, newOptimizer } = await import('../fixtures/recoverable-training.ts');
const { writeResult } = await import('./fixtures/recovery-result.ts');

mark('rendezvous');
await initProcessGroup({ timeoutMs: pauses.timeoutMs });
const ddp = new DistributedDataParallel(newNet(), { faultTolerance: 'shrink' });
const optimizer = newOptimizer(ddp.parameters());
let ranksByStep: (readonly number[])[] = [];
const log = {
  stateDict: () => ({ ranksByStep }),
  loadStateDict: (state: { ranksByStep: number[][] }) => {
    ranksByStep = state.ranksByStep;
  },
};
mark('joining');
await ddp.shareState({ optimizer, log });

const { ranksAtEnd = 1 } = pauses;
while (ranksByStep.length < Number(steps) || ranksByStep.at(-1)!.length < ranksAtEnd) {
  mark('step', { step: ranksByStep.length });
  optimizer.zeroGrad();
  await lossOf(ddp, rank, ranksByStep.length + 1).backward();
  await optimizer.step();
  ranksByStep.push([...ddp.stepRanks]);
  await setTimeout(pauses.stepMs);
}

mark('exit', { store: process.env['RINGRUN_STORE']!, worker: process.env['RINGRUN_WORKER_ID']! });
await destroyProcessGroup();
mark('left');
await setTimeout(pauses.resultMs[rank] ?? 0);
writeResult(folder, rank, { ddp, ranksByStep });
mark('done');
