// Errors of the CUDA driver and of NCCL, injected with the fake libraries at each call, on the last rank.
import process from 'node:process';

import { describeNccl } from '@ringrun/native';

import { formGroup } from '../fixtures/groups.ts';

/** More than one piece of staging. */
const long = 1_500_000;

/** Operations that together make every call of both libraries, each with the group and a GPU tensor. */
const operations = [
  (group) => group.allReduce(new Float32Array(long)),
  (group) => group.reduce(new Float32Array(10)),
  (group) => group.broadcast(new Float32Array(10)),
  (group) => group.allGather(new Float32Array(10 * group.size), new Float32Array(10)),
  (group) => group.reduceScatter(new Float32Array(10), new Float32Array(10 * group.size)),
  (group) => group.allToAll(new Float32Array(10 * group.size), new Float32Array(10 * group.size)),
  (group) => group.barrier(),
  async (group) => {
    const tensor = group.allocate('float32', 10);
    await tensor.copyFromHost(new Float32Array(10));
    await group.allReduce(tensor);
    await group.allReduceCoalesced([tensor.subarray(0, 4), tensor.subarray(4)]);
    await tensor.copyToHost(new Float32Array(10));
    tensor.free();
  },
];

/** A stuck operation, then destroy: both end in time, and destroy does not wait for the operation again. */
export async function destroyingWhileStuck({ rank, size, store, args, report }) {
  if (rank === 1) process.env.RINGRUN_FAKE_GPU_FAULT = 'ncclAllReduce:1:hang';
  const group = await formGroup({ rank, size, store }, 'stuck', { timeoutMs: args.timeoutMs });
  const tensor = new Float32Array(10);
  const stuck = group.allReduce(tensor).catch((reason) => describe(reason));
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  const destroyed = await group.destroy().catch((reason) => describe(reason));
  const { user, system } = process.cpuUsage(before);
  await report({
    stuck: await stuck,
    destroyed,
    ms: performance.now() - startedAt,
    busyMs: (user + system) / 1000,
  });
}
destroyingWhileStuck.formsGroupItself = true;

/**
 * args.faults: as RINGRUN_FAKE_GPU_FAULT, each in its own group; a group without faults works after the last. Reports
 * the errors.
 */
export async function injectedFaults({ rank, size, store, args, report }) {
  const found = {};
  for (const [index, fault] of args.faults.entries()) {
    if (rank === (args.victim ?? size - 1)) process.env.RINGRUN_FAKE_GPU_FAULT = fault;
    const startedAt = performance.now();
    found[fault] = await outcomeOf({ rank, size, store }, `fault ${index}`, args.timeoutMs);
    found[fault].ms = performance.now() - startedAt;
    delete process.env.RINGRUN_FAKE_GPU_FAULT;
    await everybody(store, `fault ${index} is over`, size);
  }
  const after = await outcomeOf({ rank, size, store }, 'after all', 20_000);
  await report({ found, after });
}
injectedFaults.formsGroupItself = true;

async function outcomeOf(place, name, timeoutMs) {
  try {
    const group = await formGroup(place, name, { timeoutMs });
    const error = await firstErrorOf(group);
    await group.destroy();
    return { error, again: error && (await group.barrier().catch((reason) => reason.message)) };
  } catch (error) {
    return { error: describe(error) };
  }
}

async function firstErrorOf(group) {
  for (const operate of operations) {
    const error = await operate(group).then(
      () => undefined,
      (reason) => reason,
    );
    if (error) return describe(error);
  }
  return undefined;
}

const describe = ({ name, code, message }) => ({ name, code, message });

/** Resolves when all ranks have called it. */
async function everybody(store, key, size) {
  if ((await store.add(key, 1)) === size) await store.set(`${key} everywhere`, '');
  await store.wait([`${key} everywhere`]);
}

/** A rank dies at a call of the libraries; the other ranks report their errors. */
export async function dyingInLibraries({ rank, size, store, report }) {
  const outcome = await outcomeOf({ rank, size, store }, 'dying', 20_000);
  await report({ outcome, endedAt: Date.now() });
}
dyingInLibraries.formsGroupItself = true;

export async function describedNccl({ report }) {
  await report({ found: describeNccl() });
}
describedNccl.formsGroupItself = true;
