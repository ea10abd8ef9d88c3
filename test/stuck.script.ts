// Ranks that wait for other ranks outside the operation. Arguments: the actions of the ranks, by rank and separated by
// commas (`awaits` and `waits` are in the operation), its timeout in milliseconds, and a path that a rank can read from.
import { readFileSync } from 'node:fs';
import * as dist from 'ringrun';

const [roles, limit, pipe = ''] = process.argv.slice(2);
const timeoutMs = Number(limit);
const role = roles.split(',')[Number(process.env['RANK'])];

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
  if (role === 'waits') dist.allReduceSync(gradients, { timeoutMs });
  else await dist.allReduce(gradients, { timeoutMs });
}

async function miss(): Promise<void> {
  await absences[role as keyof typeof absences]();
}

await dist.initProcessGroup();
await dist.barrier();
console.log(`rank ${dist.getRank()} is ready`);
try {
  await (role in absences ? miss() : trainStep());
} catch (error) {
  if (error instanceof dist.CollectiveTimeoutError && error.missing[0].rank !== dist.getRank()) {
    const lines = error.report?.split('\n') ?? [];
    console.log(`rank ${dist.getRank()} got a report of ${lines.length} lines: ${lines[0]}`);
  }
  throw error;
}
