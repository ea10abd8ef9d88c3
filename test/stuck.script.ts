// Two ranks that wait for a third one, which is not in the operation. Arguments: what the third one does instead, the
// timeout of the operation in milliseconds, and a path that a rank can read from.
import { readFileSync } from 'node:fs';
import * as dist from 'ringrun';

const [absence, limit, pipe = ''] = process.argv.slice(2);
const timeoutMs = Number(limit);

const absences = {
  computes: computeForever,
  sleeps: () => new Promise((resolve) => setTimeout(resolve, 1_000_000)),
  reads: () => readFileSync(pipe),
  receives: () => dist.recvSync(new Float32Array(1), { src: 0, tag: 9, timeoutMs: 1_000_000 }),
  broadcasts: () => dist.broadcast(new Float32Array(1000), { timeoutMs }),
} satisfies Record<string, () => unknown>;

function computeForever(): void {
  for (let i = 0; Number.isFinite(i); i++) Math.sqrt(i);
}

async function trainStep(): Promise<void> {
  const gradients = new Float32Array(1000);
  if (dist.getRank() === 1) dist.allReduceSync(gradients, { timeoutMs });
  else await dist.allReduce(gradients, { timeoutMs });
}

async function miss(): Promise<void> {
  await absences[absence as keyof typeof absences]();
}

await dist.initProcessGroup();
await dist.barrier();
console.log(`rank ${dist.getRank()} is ready`);
try {
  await (dist.getRank() === 2 ? miss() : trainStep());
} catch (error) {
  if (error instanceof dist.CollectiveTimeoutError && error.missing[0].rank !== dist.getRank())
    console.log(`rank ${dist.getRank()} got a report of ${error.report?.split('\n').length} lines`);
  throw error;
}
