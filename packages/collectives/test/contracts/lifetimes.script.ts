// Arrays whose memory is transferred, resized or collected while operations use it.
import { spawn } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import type { ProcessGroup } from '@ringrun/core';

import { failureOf } from '../fixtures/scenario.ts';
import type { Member } from '../fixtures/scenario.ts';

const length = 300_000;

/** Every asynchronous operation, on the arrays that it receives. Completes in groups of two ranks. */
const operations: Record<
  string,
  (group: ProcessGroup, one: Float32Array, two: Float32Array) => Promise<unknown>
> = {
  allReduce: (group, one) => group.allReduce(one),
  allReduceCoalesced: (group, one, two) => group.allReduceCoalesced([one, two]),
  broadcast: (group, one) => group.broadcast(one),
  reduce: (group, one) => group.reduce(one),
  reduceScatter: (group, one, two) => group.reduceScatter(one.subarray(0, length / 2), two),
  allGather: (group, one, two) => group.allGather(one, two.subarray(0, length / 2)),
  allToAll: (group, one, two) => group.allToAll(one, two),
  message: (group, one, two) =>
    group.rank === 0
      ? Promise.all([group.isend(one, 1).wait(), group.isend(two, 1, { tag: 1 }).wait()])
      : Promise.all([group.irecv(one, { src: 0 }).wait(), group.irecv(two, { src: 0, tag: 1 }).wait()]),
};

/** Frees the memory of buffers that nothing refers to: closed ports drop their messages, and a second collection waits for the first. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let collection = 0; collection < 3; collection++) {
    await setImmediate();
    collect();
  }
}

type TransferableBuffer = ArrayBuffer & { transfer(byteLength: number): ArrayBuffer };
/** Of `transfer`, which Node 20 lacks. Node 22 and 23 reallocate the memory if its length changes. */
const major = Number(process.versions.node.split('.')[0]);
const lengthRatios = major >= 24 ? [1, 4, 1 / 4] : major >= 22 ? [1] : [];

/**
 * Ways to take the memory of an ArrayBuffer from its arrays. They return the new owner of the memory, if the caller can
 * reach it.
 */
const transfers: ((buffer: ArrayBuffer) => ArrayBuffer | undefined)[] = [
  (buffer) => structuredClone(buffer, { transfer: [buffer] }),
  (buffer) => {
    structuredClone(buffer, { transfer: [buffer] });
    return undefined;
  },
  (buffer) => {
    const { port1 } = new MessageChannel();
    port1.postMessage(buffer, [buffer]);
    port1.close(); // drops the message
    return undefined;
  },
  ...lengthRatios.map((ratio) => (buffer: ArrayBuffer) => {
    const { byteLength } = buffer;
    return (buffer as TransferableBuffer).transfer(byteLength * ratio);
  }),
];

/**
 * Rank 0 starts each operation, transfers its arrays and drops its references; rank 1 starts the operation only then.
 * Memory that was freed meanwhile would be used again by the arrays that rank 0 fills with 7.
 */
export async function transferDuringOperations({ group, rank, store, report }: Member): Promise<void> {
  const results: Record<string, unknown> = {};
  for (const [name, operate] of Object.entries(operations)) {
    for (const [how, transfer] of transfers.entries()) {
      const arrays = [new Float32Array(length).fill(1), new Float32Array(length).fill(1)] as const;
      if (rank === 1) await store.wait([`${name} ${how} transferred`]);
      const running = operate(group, ...arrays);
      const owners = rank === 0 ? arrays.map(({ buffer }) => transfer(buffer)) : [];
      if (rank === 0) await collectGarbage();
      const others = rank === 0 ? Array.from({ length: 8 }, () => new Float32Array(length).fill(7)) : [];
      if (rank === 0) await store.set(`${name} ${how} transferred`, '');
      await running;
      const wrong = others.filter((one) => one.some((value) => value !== 7)).length;
      const reduced = owners[0] && new Float32Array(owners[0])[1];
      results[`${name} ${how}`] = { left: arrays[0].length, wrong, reduced };
    }
  }
  await group.destroy();
  await report({ results });
}

/** Asynchronous operations refuse resizable buffers; nothing reaches the other rank. */
export async function resizableBuffers({ group, report }: Member): Promise<void> {
  const Resizable = ArrayBuffer as unknown as new (
    bytes: number,
    options: { maxByteLength: number },
  ) => ArrayBuffer;
  const Growable = SharedArrayBuffer as unknown as new (
    bytes: number,
    options: { maxByteLength: number },
  ) => SharedArrayBuffer;
  const resizable = () => new Float32Array(new Resizable(4 * length, { maxByteLength: 8 * length }));
  const refused: Record<string, unknown> = {};
  for (const [name, operate] of Object.entries(operations)) {
    const failure = await failureOf(Promise.resolve().then(() => operate(group, resizable(), resizable())));
    refused[name] = failure?.message;
  }
  const still = resizable().fill(1);
  group.allReduceSync(still);
  const growing = new Growable(4 * length, { maxByteLength: 8 * length });
  const shared = new Float32Array(growing).fill(1);
  const reduced = group.allReduce(shared);
  (growing as SharedArrayBuffer & { grow(bytes: number): void }).grow(8 * length);
  await reduced;
  await group.destroy();
  await report({ refused, still: still[length - 1], shared: shared[length - 1], grown: shared.length });
}

/**
 * Memory of the group that is transferred and dropped while an operation uses it, and an array that nothing refers to.
 */
export async function droppedArrays({ group, rank, store, report }: Member): Promise<void> {
  const buffer: ArrayBufferLike & { transfer?: () => ArrayBuffer } = group.allocateSync(
    'float32',
    length,
  ).buffer;
  if (rank === 1) await store.wait(['dropped']);
  const running = Promise.all([
    group.allReduce(new Float32Array(buffer)),
    group.allReduce(new Float32Array(length)),
  ]);
  // Node refuses to transfer this memory to another thread.
  if (rank === 0) buffer.transfer?.();
  await collectGarbage();
  if (rank === 0) await store.set('dropped', '');
  await running;
  await group.destroy();
  await report({ left: buffer.byteLength });
}

/** The global of that name, whose declaration is the browser's. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: {
    Memory: new (size: { initial: number }) => { buffer: ArrayBuffer; grow(pages: number): void };
  };
};

/** Operations on the memory of WebAssembly that grows meanwhile, which detaches its ArrayBuffer. */
export async function growingWasmMemory({ group, rank, store, report }: Member): Promise<void> {
  const pages = Math.ceil((8 * length) / 65_536);
  const results: Record<string, unknown> = {};
  for (const [name, operate] of Object.entries(operations)) {
    const memory = new WebAssembly.Memory({ initial: pages });
    const arrays = [0, 4 * length].map((offset) => new Float32Array(memory.buffer, offset, length).fill(1));
    if (rank === 1) await store.wait([`${name} grown`]);
    const running = operate(group, arrays[0], arrays[1]);
    if (rank === 0) {
      memory.grow(10 * pages);
      await collectGarbage();
      await store.set(`${name} grown`, '');
    }
    await running;
    results[name] = { left: arrays[0].length, value: new Float32Array(memory.buffer)[1] };
  }
  await group.destroy();
  await report({ results });
}

/** Starts a process in the middle of a group's work, and reports its descriptors that the rank opened. */
export async function childOfRank({ group, rank, report }: Member): Promise<void> {
  const tensor = group.allocateSync('float32', length);
  await group.allReduce(tensor);
  if (rank === 0) await group.send(tensor, 1);
  else await group.recv(tensor, { src: 0 });
  const ofRank = descriptorsOf('self');
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  const inherited = descriptorsOf(String(child.pid));
  child.kill();
  const ofParent = descriptorsOf(String(process.ppid));
  await group.barrier();
  await group.destroy();
  await report({ opened: ofRank.length > 0, inherited: inherited.filter((one) => !ofParent.includes(one)) });
}

/** The targets of a process's descriptors, except files, such as libraries that it loads when it starts. */
function descriptorsOf(pid: string): string[] {
  const folder = `/proc/${pid}/fd`;
  const links = readdirSync(folder).flatMap((name) => {
    try {
      return readlinkSync(`${folder}/${name}`);
    } catch {
      return []; // the descriptor of the listed folder
    }
  });
  return links.filter((link) => !link.startsWith('/') || link.startsWith('/memfd:'));
}
