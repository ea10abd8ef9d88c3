// Forms a group and prints a JSON report: its links, the seconds it took to form, hashes of results, and, for each size given
// as argument, the median seconds of an all-reduce of so many bytes.
import { createHash } from 'node:crypto';
import {
  allGather,
  allReduce,
  allReduceSync,
  barrier,
  broadcast,
  defaultGroup,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  groupLinks,
  initProcessGroup,
  measureLinks,
  newGroup,
} from 'ringrun';

const [repeats, measuresAgain, ...sizes] = process.argv.slice(2).map(Number);
const startedAt = performance.now();
await initProcessGroup();
const formedMs = performance.now() - startedAt;
const [rank, size] = [getRank(), getWorldSize()];

/** Sums of these round, so their bytes show the order of additions. */
const terms = (length: number) => Float32Array.from({ length }, (_, i) => 1 / (3 + rank + i));
const hash = createHash('sha256');
for (const length of [1, 1000, 300_000]) {
  const sum = terms(length);
  await allReduce(sum);
  hash.update(new Uint8Array(sum.buffer));
}
const results = hash.digest('hex');

/** Movements, whose results do not depend on the order of hosts. */
const gathered = new Float32Array(size * 30_000);
await allGather(gathered, terms(30_000));
const broadcasted = terms(200_000);
await broadcast(broadcasted, { src: size - 1 });
const moved = createHash('sha256')
  .update(new Uint8Array(gathered.buffer))
  .update(new Uint8Array(broadcasted.buffer))
  .digest('hex');

const seconds: number[] = [];
for (const bytes of sizes) {
  const data = defaultGroup().allocateSync('float32', bytes / 4);
  const times: number[] = [];
  for (let i = 0; i < repeats; i += 1) {
    await barrier();
    const begin = performance.now();
    allReduceSync(data);
    times.push((performance.now() - begin) / 1000);
  }
  seconds.push(times.sort((a, b) => a - b)[Math.floor(repeats / 2)]);
}

const odd = await newGroup(Array.from({ length: size }, (_, one) => one).filter((one) => one % 2 === 1));
const ofGroup = odd === null ? null : (groupLinks(odd) ?? null);
const again = measuresAgain === 1 ? await measureLinks({ use: true }) : null;
console.log(
  JSON.stringify({ links: groupLinks() ?? null, formedMs, results, moved, seconds, ofGroup, again }),
);
await destroyProcessGroup();
