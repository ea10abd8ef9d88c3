import type { ProcessGroup } from '@ringrun/core';
import type { FlatState } from '../checkpoint/flat-state.ts';
import { decodeParts, encodeParts } from '../checkpoint/packed-parts.ts';

/** The state dicts of a training by name. Tensors are not copied. */
export type States = ReadonlyMap<string, FlatState>;

/** Sends the states to each of the ranks `to`, in the files that a checkpoint would have. */
export async function sendState(group: ProcessGroup, to: readonly number[], states: States): Promise<void> {
  const parts = Array.from(states, ([name, state]) => [name, { perRank: false, states: [state] }] as const);
  const files = encodeParts(new Map(parts), (_, bytes) => new Uint8Array(bytes));
  const header = new TextEncoder().encode(
    JSON.stringify(Array.from(files, ([name, { length }]) => [name, length])),
  );
  for (const dst of to) {
    await group.send(Float64Array.of(header.length), dst);
    await group.send(header, dst);
    for (const bytes of files.values()) await group.send(bytes, dst);
  }
}

/** Receives the states that rank `src` sends with `sendState`. */
export async function receiveState(group: ProcessGroup, src: number): Promise<Map<string, unknown>> {
  const length = new Float64Array(1);
  await group.recv(length, { src });
  const header = new Uint8Array(length[0]);
  await group.recv(header, { src });
  const sizes = JSON.parse(Buffer.from(header).toString('utf8')) as [name: string, bytes: number][];
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [name, bytes] of sizes) {
    const file = new Uint8Array(bytes);
    await group.recv(file, { src });
    files.set(name, file);
  }
  return new Map(Array.from(decodeParts(files), ([name, { states }]) => [name, states[0]]));
}
