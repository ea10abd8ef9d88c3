// Tensors on GPUs: runs the conformance suite with each array copied to a GPU and back, and tests features of GPU
// tensors.
import assert from 'node:assert/strict';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import { bytesPerElement, createCpuGroup, dtypeOf, typedArrayClass } from '@ringrun/collectives';

import { movementCases, reductionCases, Turns } from '../conformance/cases.js';
import { coalescedOnDevice } from '../conformance/coalesced.js';
import { Memory } from '../conformance/memory.js';
import { movements } from '../conformance/movements.js';
import { reductions } from '../conformance/reductions.js';
import { formGroup, prefixed } from '../fixtures/groups.ts';

const opsOnDevice = ['SUM', 'AVG', 'PRODUCT', 'MIN', 'MAX'];

/** args.extent: as in the conformance suite. Reports the number of cases. */
export async function conformanceOnDevice({ group, rank, size, args, report }) {
  const ranks = Array.from({ length: size }, (_, one) => one);
  const world = { group, rank, size, ranks, extent: args.extent, turns: new Turns() };
  world.memory = new Memory(group, 64 * 2 ** 20);
  world.call = (name, ...given) => callOnDevice(group, name, given);
  let count = 0;
  for (const one of reductionCases(world).filter(({ op }) => opsOnDevice.includes(op)))
    for (const [name, carryOut] of Object.entries(reductions))
      count += await inTurn(world, name, carryOut, one);
  for (const one of movementCases(world))
    for (const [name, carryOut] of Object.entries(movements))
      count += await inTurn(world, name, carryOut, one);
  await coalescedOnDevice(world);
  await group.destroy();
  await report({ count });
}

async function inTurn(world, name, carryOut, one) {
  const turn = { ...one, ...world.turns.next(world, one) };
  try {
    await carryOut(world, turn);
  } catch (error) {
    throw new Error(`while in ${name} of ${one.dtype} ${one.op ?? ''}, length ${one.length}, on the GPU`, {
      cause: error,
    });
  }
  world.memory.clear();
  return 1;
}

/** Copies arrays to the GPU; subarrays become parts of the same device memory. */
async function callOnDevice(group, name, given) {
  const arrays = arraysIn(given);
  const wholes = arrays.filter(
    (one, i) => !arrays.some((other, j) => i !== j && holdsBefore(other, j, one, i)),
  );
  const tensors = new Map();
  for (const whole of wholes) {
    const tensor = group.allocate(dtypeOf(whole), whole.length);
    await tensor.copyFromHost(whole);
    tensors.set(whole, tensor);
  }
  await group[name](...given.map((one) => placed(one, wholes, tensors)));
  for (const [whole, tensor] of tensors) {
    await tensor.copyToHost(whole);
    tensor.free();
  }
}

function arraysIn(value) {
  if (ArrayBuffer.isView(value)) return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(arraysIn) : [];
}

/** Of two arrays with the same elements, the first is the whole array. */
const holdsBefore = (whole, j, part, i) => contains(whole, part) && (j < i || !contains(part, whole));

const contains = (whole, part) =>
  whole.buffer === part.buffer &&
  whole.byteOffset <= part.byteOffset &&
  whole.byteOffset + whole.byteLength >= part.byteOffset + part.byteLength;

function placed(value, wholes, tensors) {
  if (ArrayBuffer.isView(value)) {
    const whole = wholes.find((one) => one === value || contains(one, value));
    const begin = (value.byteOffset - whole.byteOffset) / value.BYTES_PER_ELEMENT;
    return tensors.get(whole).subarray(begin, begin + value.length);
  }
  if (Array.isArray(value)) return value.map((one) => placed(one, wholes, tensors));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, placed(one, wholes, tensors)]));
}

/** Messages from GPU to GPU in every dtype, copies, subarrays, memory of another library, streams. */
export async function tensorsOnDevice({ group, rank, size, report }) {
  for (const dtype of Object.keys(bytesPerElement)) {
    const sent = group.allocate(dtype, 1000);
    const received = group.allocate(dtype, 1000);
    await sent.copyFromHost(filled(dtype, 1000, rank + 1));
    const [next, before] = [(rank + 1) % size, (rank + size - 1) % size];
    const exchange = [() => group.send(sent, next), () => group.recv(received, { src: before })];
    if (rank === 0) exchange.reverse();
    const [first, second] = exchange.map((begin) => begin());
    const sender = (await Promise.all([first, second])).find((one) => one !== undefined);
    assert.equal(sender, before);
    await holds(received, before + 1);
  }

  const whole = group.allocate('float32', 10);
  await whole.copyFromHost(filled('float32', 10, 1));
  const part = whole.subarray(-4, -1);
  assert.deepEqual([part.length, part.byteLength, part.address - whole.address], [3, 12, 24n]);
  await group.allReduce(part);
  const expected = filled('float32', 10, 1);
  expected.fill(size, 6, 9);
  const found = new Float32Array(10);
  await whole.copyToHost(found);
  assert.deepEqual(found, expected);

  const foreign = group.wrap(whole.address, 'float32', 6);
  // 0 is the legacy default stream.
  await group.afterStream(0n);
  await group.allReduce(foreign, { op: 'MAX' });
  await group.beforeStream(0n);
  await holds(foreign, 1);
  foreign.free();

  const registered = group.allocateSync('float32', 3_000_000);
  registered.fill(rank);
  await group.allReduce(registered);
  assert.ok(registered.every((value) => value === (size * (size - 1)) / 2));
  whole.free();
  const freed = await group.allReduce(whole).catch((error) => error);
  await group.barrier();
  await group.destroy();
  await report({ freed: { code: freed.code, message: freed.message } });
}

async function holds(tensor, value) {
  const found = new typedArrayClass[tensor.dtype](new ArrayBuffer(tensor.byteLength));
  await tensor.copyToHost(found);
  assert.deepEqual(found, filled(tensor.dtype, tensor.length, value));
}

function filled(dtype, length, value) {
  const Class = typedArrayClass[dtype];
  const array = new Class(new ArrayBuffer(length * bytesPerElement[dtype]));
  return array.fill(dtype.endsWith('int64') ? BigInt(value) : value);
}

/**
 * Disagreements of ranks 0 and 1, each in its own group: calls with a host array and with tensors, of 100 elements.
 */
const disagreements = {
  place: ({ group, rank, onHost, onDevice }) => group.allReduce(rank === 0 ? onHost : onDevice),
  lengths: ({ group, rank, onDevice, other }) =>
    group.allReduceCoalesced([onDevice, other.subarray(0, 50 + rank)]),
  dtypeOfMessage: ({ group, rank, onDevice, ofOtherDType }) =>
    rank === 0 ? group.send(onDevice, 1) : group.recv(ofOtherDType, { src: 0 }),
  lengthOfMessage: ({ group, rank, onDevice }) =>
    rank === 0 ? group.send(onDevice.subarray(0, 99), 1) : group.recv(onDevice, { src: 0 }),
  bothSend: ({ group, rank, onDevice }) => group.send(onDevice, 1 - rank),
};

/** Reports the ranks' errors; the arrays do not change. */
export async function disagreementsOnDevice({ rank, size, store, report }) {
  const found = {};
  for (const [name, disagree] of Object.entries(disagreements)) {
    const group = await formGroup({ rank, size, store }, name);
    const onHost = filled('float32', 100, 7);
    const [onDevice, other] = [group.allocate('float32', 100), group.allocate('float32', 100)];
    for (const tensor of [onDevice, other]) await tensor.copyFromHost(onHost);
    const ofOtherDType = group.allocate('int32', 100);
    const error = await disagree({ group, rank, onHost, onDevice, other, ofOtherDType }).catch(
      (reason) => reason,
    );
    assert.ok(onHost.every((value) => value === 7));
    found[name] = { name: error.name, message: error.message };
    await group.destroy();
  }
  await report({ found });
}
disagreementsOnDevice.formsGroupItself = true;

/** Rank 1 receives none of rank 0's messages, and is killed during the second one. Rank 0 reports its errors. */
export async function messagesUnanswered({ rank, size, store, report }) {
  const [late, gone] = [
    await formGroup({ rank, size, store }, 'late'),
    await formGroup({ rank, size, store }, 'gone'),
  ];
  if (rank === 1) {
    await store.wait(['rank 0 waits']);
    process.kill(process.pid, 'SIGKILL');
  }
  const send = (group, timeoutMs) =>
    group
      .send(group.allocate('float32', 10), 1, { timeoutMs })
      .catch(({ name, message }) => ({ name, message }));
  const found = { late: await send(late, 1000) };
  const sending = send(gone, 20_000);
  await store.set('rank 0 waits', '');
  await report({ found: { ...found, gone: await sending } });
  await Promise.all([late.destroy(), gone.destroy()]);
}
messagesUnanswered.formsGroupItself = true;

/** Two messages of different dtypes in opposite directions; each receiver waits until it has sent a STATUS. */
export async function lateMessages({ group, rank, report }) {
  for (const [sender, dtype] of ['float32', 'float64'].entries()) {
    const tensor = group.allocate(dtype, 10);
    if (rank === sender) await tensor.copyFromHost(filled(dtype, 10, sender + 1));
    if (rank === sender) await sleep(500).then(() => group.send(tensor, 1 - sender));
    else await group.recv(tensor, { src: sender });
    await holds(tensor, sender + 1);
  }
  await group.destroy();
  await report({ done: true });
}

/** Reduces a list of tensors and a list of host arrays, each as one operation. */
export async function fusedReductions({ group, size, report }) {
  const tensors = [100, 1, 0, 7].map((length) => group.allocate('float32', length));
  for (const tensor of tensors) await tensor.copyFromHost(filled('float32', tensor.length, 1));
  const arrays = Array.from({ length: 50 }, (_, i) => filled('float32', i + 1, 1));
  await group.allReduceCoalesced(tensors);
  await group.allReduceCoalesced(arrays);
  for (const tensor of tensors) await holds(tensor, size);
  for (const array of arrays) assert.ok(array.every((value) => value === size));
  await group.destroy();
  await report({ done: true });
}

/** Waits for a slow stream, then makes it wait; reports the durations. */
export async function streamsInOrder({ group, report }) {
  const tensor = group.allocate('float32', 10);
  await tensor.copyFromHost(filled('float32', 10, 1));
  const since = performance.now();
  await group.afterStream(0n);
  const callbackAfter = performance.now() - since;
  await group.allReduce(tensor);
  const reducedAfter = performance.now() - since;
  await group.beforeStream(0n);
  await group.destroy();
  await report({ callbackAfter, reducedAfter });
}

/** Invalid arguments; the group remains usable after each. */
export async function refusalsOnDevice({ group, rank, size, report }) {
  const tensor = group.allocate('int32', 8);
  const array = new Int32Array(8);
  const attempts = {
    band: () => group.allReduce(tensor, { op: 'BAND' }),
    mixed: () => group.allGather(new Int32Array(8 * size), tensor),
    mixedList: () => group.allReduceCoalesced([tensor, array]),
    tag: () => group.send(tensor, (rank + 1) % size, { tag: 1 }),
    anySource: () => group.recv(tensor),
    sync: async () => group.sendSync(tensor, (rank + 1) % size),
    dtype: () => tensor.copyFromHost(new Float32Array(8)),
    length: () => tensor.copyToHost(new Int32Array(7)),
  };
  const refusals = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    const error = await attempt().catch((reason) => reason);
    refusals[name] = { name: error.name, message: error.message };
  }
  await group.allReduce(array, { op: 'BXOR' });
  await group.allReduce(tensor);
  await group.destroy();
  await report({ refusals });
}

/** A GPU tensor passed to a group with backend gloo. */
export async function tensorInCpuGroup({ group, rank, size, store, report }) {
  const tensor = group.allocate('float32', 10);
  const cpu = await createCpuGroup({
    store: prefixed(store, 'cpu beside/'),
    rank,
    size,
    timeoutMs: 20_000,
  });
  const error = await cpu.allReduce(tensor).catch((reason) => reason);
  const sum = Float32Array.of(rank + 1);
  await cpu.allReduce(sum);
  await Promise.all([cpu.destroy(), group.destroy()]);
  await report({ name: error.name, message: error.message, sum: sum[0] });
}
