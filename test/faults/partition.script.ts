// One rank of several hosts: `partition.script.ts <course>` prints `rank N is ready` and continues after SIGUSR2,
// unless its course differs.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { allReduce, getRank, initProcessGroup, newGroup, recv, send } from 'ringrun';

const elements = 150_000;

/** Resolves after the signal, for which an empty event loop would not wait. */
async function ready(): Promise<void> {
  const waiting = setInterval(() => undefined, 1000);
  const signal = once(process, 'SIGUSR2');
  console.log(`rank ${getRank()} is ready`);
  await signal;
  clearInterval(waiting);
}

const courses = {
  /** Prints the line while it runs all-reduces, which it repeats until it is stopped. */
  running: async () => {
    const tensor = new Float32Array(elements);
    for (let round = 1; ; round += 1) {
      await allReduce(tensor, { timeoutMs: 60_000 });
      if (round === 10) console.log(`rank ${getRank()} is ready`);
    }
  },
  /** The first collective of a subgroup. */
  subgroup: async () => {
    const group = await newGroup([0, 1]);
    await ready();
    await allReduce(new Float32Array(elements), { timeoutMs: 60_000, group: group! });
  },
  /** The first collective of the default group. */
  first: async () => {
    await ready();
    await allReduce(new Float32Array(elements), { timeoutMs: 60_000 });
  },
  /** The first message: rank 1 sends it to rank 0. */
  message: async () => {
    await ready();
    const tensor = new Float32Array(elements);
    await (getRank() === 1
      ? send(tensor, 0, { timeoutMs: 60_000 })
      : recv(tensor, { src: 1, timeoutMs: 60_000 }));
  },
  /** Only forms the group. */
  forming: () => undefined,
  /** A long all-reduce, before which the last rank is busy for 1.5 s. */
  slow: async () => {
    const tensor = new Float32Array(elements).fill(getRank() + 1);
    if (getRank() === 1) await sleep(1500);
    const startedAt = performance.now();
    await allReduce(tensor, { timeoutMs: 60_000 });
    const isRight = tensor.every((value) => value === 3);
    console.log(`right: ${isRight}, ms: ${Math.round(performance.now() - startedAt)}`);
  },
} as const;

const course = process.argv[2] as keyof typeof courses;
await initProcessGroup(course === 'forming' ? { timeoutMs: 15_000 } : {});
await courses[course]();
