import { createCpuGroup, measureClock } from '@ringrun/collectives';
import { printable, StoreTimeoutError } from '@ringrun/core';
import type { ProcessGroup, Store } from '@ringrun/core';
import { hostname } from 'node:os';
import { PrefixStore, dataConnectionSecurity } from '@ringrun/rendezvous';
import type { LinkFailure } from './checks/link.ts';
import type { Doctor, LinkMeasurement } from './link-measurement.ts';
import { measureLatency, measureThroughput } from './measure-group.ts';

/** Why the link could not be measured; see `judgeLinkFailure`. */
export class LinkError extends Error {
  readonly failure: Omit<LinkFailure, 'command' | 'waitedMs'>;

  constructor(failure: Omit<LinkFailure, 'command' | 'waitedMs'>) {
    super(failure.message);
    this.name = 'LinkError';
    this.failure = failure;
  }
}

const serverKey = 'doctor/host';
const clientKey = 'doctor/guest';

/** Milliseconds: a store in which no doctor has registered by then belongs to a training job. */
const introductionMs = 2000;

/** Milliseconds of one all-reduce: long enough to measure the link's throughput, short enough to wait for. */
const enoughMs = 100;

/**
 * Waits for the doctor of another node, then measures the link in a group of two, formed as for training.
 *
 * @param store The store at the job's master address and port.
 * @param servesStore True if this process serves the store.
 * @throws LinkError with the stage that failed.
 */
export async function measureLink(
  store: Store,
  servesStore: boolean,
  { masterAddress, timeoutMs }: { masterAddress: string; timeoutMs: number },
): Promise<LinkMeasurement> {
  const own: Doctor = { host: hostname(), pid: process.pid };
  const peer = servesStore ? await awaitClient(store, own, timeoutMs) : await joinServer(store, own);
  const group = await createCpuGroup({
    store: new PrefixStore('doctor/group', store),
    rank: servesStore ? 0 : 1,
    size: 2,
    timeoutMs,
    masterAddress,
    ...dataConnectionSecurity(undefined),
  }).catch((error: unknown) => {
    throw new LinkError({ stage: 'connecting', peer: peer.host, message: messageOf(error), bytes: 0 });
  });
  return measure(group, peer);
}

/** Description of the keys that the store's server waits for. */
export function describeDoctorKeys(keys: readonly string[]): string | undefined {
  return keys.includes(clientKey) ? 'a second doctor, on another node' : undefined;
}

async function awaitClient(store: Store, own: Doctor, timeoutMs: number): Promise<Doctor> {
  await store.set(serverKey, JSON.stringify(own));
  try {
    return parseDoctor(await store.get(clientKey, { timeoutMs }));
  } catch (error) {
    if (!(error instanceof StoreTimeoutError)) throw error;
    throw new LinkError({ stage: 'waiting', peer: undefined, message: error.message, bytes: 0 });
  }
}

/**
 * The store may belong to a running training job, which must not be disturbed. A doctor accepts one client at a time.
 */
async function joinServer(store: Store, own: Doctor): Promise<Doctor> {
  const server = await awaitServer(store);
  const ownText = JSON.stringify(own);
  const registered = Buffer.from(await store.compareSet(clientKey, '', ownText)).toString();
  if (registered !== ownText)
    throw occupied(
      `the doctor on the master is busy measuring the link to ${parseDoctor(Buffer.from(registered)).host}`,
    );
  return server;
}

/**
 * The server's doctor registers right after it has opened its store; a client that waited for the store may be earlier.
 */
async function awaitServer(store: Store): Promise<Doctor> {
  try {
    return parseDoctor(await store.get(serverKey, { timeoutMs: introductionMs }));
  } catch (error) {
    if (!(error instanceof StoreTimeoutError)) throw error;
    throw occupied("the store on the master's port belongs to a running job");
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
    // Both ranks have finished, or the group has failed already.
    await group.destroy().catch(() => undefined);
  }
}

/** `measureClock` compares times since process start, so the ranks exchange their start times by their own clocks. */
async function compareClocks(
  group: ProcessGroup,
): Promise<Pick<LinkMeasurement, 'clockAheadMs' | 'roundTripMs'>> {
  const [{ offset, roundTrip }] = (await group.allGatherObject(await measureClock(group))).slice(1);
  const [began, clientBegan] = await group.allGatherObject(Date.now() - performance.now());
  const serverAhead = offset + began - clientBegan;
  return { clockAheadMs: group.rank === 0 ? -serverAhead : serverAhead, roundTripMs: roundTrip };
}

function occupied(message: string): LinkError {
  return new LinkError({ stage: 'occupied', peer: undefined, message, bytes: 0 });
}

function parseDoctor(bytes: Uint8Array): Doctor {
  const { host, pid } = JSON.parse(Buffer.from(bytes).toString()) as Doctor;
  // For messages only.
  return { host: printable(host), pid };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
