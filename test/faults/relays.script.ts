// One rank of several hosts: `relays.script.ts <rounds> <count> [waits]` adds up, and passes messages in a ring, `rounds`
// times. Prints a line after round 5, and the digest of all results at the end. `waits`: leaves the group after SIGUSR2.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { allReduce, destroyProcessGroup, getRank, getWorldSize, initProcessGroup, recv, send } from 'ringrun';

const [rounds, count] = process.argv.slice(2, 4).map(Number);
const waits = process.argv[4] === 'waits';
const told = once(process, 'SIGUSR2');
await initProcessGroup({ timeoutMs: 60_000 });
const [rank, size] = [getRank(), getWorldSize()];
console.log(`rank ${rank} is ready`);
const digest = createHash('sha256');
const own = Float32Array.from({ length: count }, (_, i) => Math.sin(i) * (rank + 1));
const message = new Float32Array(30_000);
for (let round = 0; round < rounds; round += 1) {
  const sum = own.map((value) => value + round);
  await allReduce(sum);
  digest.update(sum);
  const sent = message.map((_, i) => i + round * size + rank);
  await Promise.all([send(sent, (rank + 1) % size), recv(message, { src: (rank + size - 1) % size })]);
  const first = round * size + ((rank + size - 1) % size);
  if (!message.every((value, i) => value === Math.fround(i + first)))
    throw new Error(`wrong message in round ${round}`);
  if (round === 5) console.log(`rank ${rank} has done round 5`);
}
console.log(`digest: ${digest.digest('hex')}`);
if (waits) {
  const running = setInterval(() => undefined, 1000);
  await told;
  clearInterval(running);
}
await destroyProcessGroup();
