import { hostname } from 'node:os';
import { createGlooGroup, StoreTimeoutError } from '@ringrun/collectives';
import type { ProcessGroup, Store } from '@ringrun/collectives';
import { measureClock } from '../profiler/clock.ts';
import { PrefixStore } from '../store/prefix-store.ts';
import type { LinkFailure } from './checks/link.ts';
import { measureLatency, measureThroughput } from './measure-group.ts';
import type { Throughput } from './measure-group.ts';

/** Who examines the other end. */
export interface Doctor {
  host: string;
  pid: number;
}

export interface LinkMeasurement extends Throughput {
  peer: Doctor;
  transport: ProcessGroup['transport'];
  /** Of an all-reduce of 4 B, the median. */
  latencyUs: number;
  /** How far the other's clock is ahead of ours; wrong by half a round trip at most. */
  clockAheadMs: number;
  roundTripMs: number;
}

/** Why there is no measurement, as `judgeLinkFailure` takes it. */
export class LinkError extends Error {
  readonly failure: Omit<LinkFailure, 'command' | 'waitedMs'>;

  constructor(failure: Omit<LinkFailure, 'command' | 'waitedMs'>) {
    super(failure.message);
    this.name = 'LinkError';
    this.failure = failure;
  }
}

const hostKey = 'doctor/host';
const guestKey = 'doctor/guest';

/** Of a job's store it is known after this time that nobody introduces himself there. */
const introductionMs = 2000;

/** One array after the other takes a tenth of a second: long enough to see what the link gives, short enough to wait for. */
const enoughMs = 100;

/**
 * Waits for the doctor of another node, and measures what lies between: a group of two, as training would form it.
 *
 * @param store The host's, at the job's master address and port.
 * @param hosts Whether it is this process that hosts it.
 * @throws LinkError that says how far it got.
 */
export async function measureLink(
  store: Store,
  hosts: boolean,
  { masterAddress, timeoutMs }: { masterAddress: string; timeoutMs: number },
): Promise<LinkMeasurement> {
  const own: Doctor = { host: hostname(), pid: process.pid };
  const peer = hosts ? await awaitGuest(store, own, timeoutMs) : await visit(store, own);
  const group = await createGlooGroup({
    store: new PrefixStore('doctor/group', store),
    rank: hosts ? 0 : 1,
    size: 2,
    timeoutMs,
    masterAddress,
  }).catch((error: unknown) => {
    throw new LinkError({ stage: 'connecting', peer: peer.host, message: messageOf(error), bytes: 0 });
  });
  return measure(group, peer);
}

/** For the keys that the host waits for. */
export function describeDoctorKeys(keys: readonly string[]): string | undefined {
  return keys.includes(guestKey) ? 'a second doctor, on another node' : undefined;
}

async function awaitGuest(store: Store, own: Doctor, timeoutMs: number): Promise<Doctor> {
  await store.set(hostKey, JSON.stringify(own));
  try {
    return parseDoctor(await store.get(guestKey, { timeoutMs }));
  } catch (error) {
    if (!(error instanceof StoreTimeoutError)) throw error;
    throw new LinkError({ stage: 'waiting', peer: undefined, message: error.message, bytes: 0 });
  }
}

/** The host's store may be that of a training, which is not disturbed; and it examines one guest at a time. */
async function visit(store: Store, own: Doctor): Promise<Doctor> {
  const host = await awaitHost(store);
  const card = JSON.stringify(own);
  const there = Buffer.from(await store.compareSet(guestKey, '', card)).toString();
  if (there !== card) throw occupied(`the doctor there is busy with ${parseDoctor(Buffer.from(there)).host}`);
  return host;
}

/** A doctor introduces itself right after it has opened its store; a guest that had waited for the store may be there before. */
async function awaitHost(store: Store): Promise<Doctor> {
  try {
    return parseDoctor(await store.get(hostKey, { timeoutMs: introductionMs }));
  } catch (error) {
    if (!(error instanceof StoreTimeoutError)) throw error;
    throw occupied('the store there is that of a job, which is under way');
  }
}

async function measure(group: ProcessGroup, peer: Doctor): Promise<LinkMeasurement> {
  let bytes = 4;
  try {
    const clocks = await compareClocks(group);
    const latencyUs = await measureLatency(group);
    const throughput = await measureThroughput(group, enoughMs, (next) => {
      bytes = next;
    });
    return { peer, transport: group.transport, latencyUs, ...throughput, ...clocks };
  } catch (error) {
    throw new LinkError({ stage: 'measuring', peer: peer.host, message: messageOf(error), bytes });
  } finally {
    // Both are done with it, or it has failed already.
    await group.destroy().catch(() => undefined);
  }
}

/** `measureClock` compares times since the processes began; when that was, each says on its own clock. */
async function compareClocks(
  group: ProcessGroup,
): Promise<Pick<LinkMeasurement, 'clockAheadMs' | 'roundTripMs'>> {
  const [{ offset, roundTrip }] = (await group.allGatherObject(await measureClock(group))).slice(1);
  const [began, guestBegan] = await group.allGatherObject(Date.now() - performance.now());
  const hostAhead = offset + began - guestBegan;
  return { clockAheadMs: group.rank === 0 ? -hostAhead : hostAhead, roundTripMs: roundTrip };
}

function occupied(message: string): LinkError {
  return new LinkError({ stage: 'occupied', peer: undefined, message, bytes: 0 });
}

function parseDoctor(bytes: Uint8Array): Doctor {
  return JSON.parse(Buffer.from(bytes).toString()) as Doctor;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
