import { RingrunError } from '@ringrun/core';
import {
  StoreServer,
  connectStore,
  describePortOwner,
  findPortOwner,
  isLoopback,
  probe,
} from '@ringrun/rendezvous';
import type { StoreClient } from '@ringrun/rendezvous';
import { isOwn, judgeRoute, readRoute } from './checks/address.ts';
import { judgeClocks, judgeLink, judgeLinkFailure } from './checks/link.ts';
import { judgeName, resolvePatiently } from './checks/name.ts';
import { judgeBinding, judgeConnection, judgeSecret, readGreeting } from './checks/port.ts';
import type { Binding } from './checks/port.ts';
import { ok } from './finding.ts';
import type { NamedFinding } from './finding.ts';
import type { DoctorOptions } from './options.ts';
import { LinkError, describeDoctorKeys, measureLink } from './second-doctor.ts';

/** Milliseconds within which the listener on this machine's port must answer as a store. */
const neighbourMs = 2000;

/** Checks the path to the master. Each step runs only if the step before it succeeded. */
export async function* examineNetwork(options: DoctorOptions): AsyncGenerator<NamedFinding> {
  const { master, port, timeoutMs } = options;
  if (master === undefined) {
    yield { check: 'port', ...judgeBinding(port, await examinePort(port), false) };
    yield {
      check: 'network',
      ...ok('skipped: neither --master-addr nor MASTER_ADDR is set'),
    };
    return;
  }
  const resolution = await resolvePatiently(master, timeoutMs);
  yield { check: 'name', ...judgeName(resolution) };
  const address = resolution.addresses.at(0);
  if (address === undefined) return;
  const route = await readRoute(master, address, options);
  yield { check: 'address', ...judgeRoute(route) };
  if (route.ownAddress !== '') yield* examineStore(options, master, address);
}

async function* examineStore(
  options: DoctorOptions,
  master: string,
  address: string,
): AsyncGenerator<NamedFinding> {
  const servesStore = options.nodeRank === undefined ? isOwn(address) : options.nodeRank === 0;
  const target = { master, address };
  if (!servesStore) {
    yield* joinStore(options, target);
    return;
  }
  const server = await bindStore(options.port);
  if (!(server instanceof StoreServer)) {
    yield { check: 'port', ...judgeBinding(options.port, server, true) };
    if (server.kind === 'held' && server.store) yield* joinStore(options, target);
    return;
  }
  try {
    yield { check: 'port', ...judgeBinding(options.port, { kind: 'free' }, true) };
    // No other node can connect to a loopback address.
    if (!isLoopback(address)) yield* serveStore(options, target);
  } finally {
    await server.close();
  }
}

interface MasterAddress {
  master: string;
  address: string;
}

async function* serveStore(options: DoctorOptions, target: MasterAddress): AsyncGenerator<NamedFinding> {
  const { port, timeoutMs } = options;
  const store = await connectStore({
    host: '127.0.0.1',
    port,
    timeoutMs,
    who: 'doctor',
    describeKeys: describeDoctorKeys,
  });
  yield* examineLink(store, options, { servesStore: true, ...target });
}

async function* joinStore(options: DoctorOptions, target: MasterAddress): AsyncGenerator<NamedFinding> {
  const { port, timeoutMs } = options;
  const startedAt = performance.now();
  const storeAddress = { host: target.master, port };
  let store;
  try {
    store = await connectStore({ ...storeAddress, timeoutMs, who: 'doctor' });
  } catch (error) {
    if (!(error instanceof RingrunError)) throw error;
    if (error.code === 'ERR_SECRET_MISMATCH') {
      yield { check: 'port', ...judgeSecret(storeAddress) };
      return;
    }
    const state = await probe(storeAddress);
    const greeting = state.kind === 'accepted' ? await readGreeting({ host: target.address, port }) : '';
    const waitedMs = performance.now() - startedAt;
    yield { check: 'port', ...judgeConnection({ ...storeAddress, state, waitedMs, greeting }) };
    return;
  }
  yield { check: 'port', ...ok(`a ringrun store answers at ${target.master}:${port}`) };
  yield* examineLink(store, options, { servesStore: false, ...target });
}

async function* examineLink(
  store: StoreClient,
  { port, timeoutMs }: DoctorOptions,
  { servesStore, master, address }: MasterAddress & { servesStore: boolean },
): AsyncGenerator<NamedFinding> {
  const startedAt = performance.now();
  try {
    const link = await measureLink(store, servesStore, { masterAddress: address, timeoutMs });
    yield { check: 'link', ...judgeLink(link) };
    yield { check: 'clocks', ...judgeClocks(link) };
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    const waitedMs = performance.now() - startedAt;
    const command = `ringrun doctor --master-addr ${master}${port === 29500 ? '' : ` --master-port ${port}`} --node-rank 1`;
    yield { check: 'link', ...judgeLinkFailure({ ...error.failure, waitedMs, command }) };
  } finally {
    await store.close();
  }
}

/** A store server on the port, or the reason why it could not be bound. */
async function bindStore(port: number): Promise<StoreServer | Exclude<Binding, { kind: 'free' }>> {
  try {
    // The addon may be what is broken, so this process does not load it.
    return await StoreServer.bind({ host: '*', port }, { limitsStrangers: false });
  } catch (error) {
    if (!(error instanceof RingrunError)) throw error;
    if (error.code !== 'ERR_PORT_IN_USE') return { kind: 'forbidden', why: error.message };
    const owner = describePortOwner(await findPortOwner(port));
    return { kind: 'held', owner, store: await isStore(port) };
  }
}

async function examinePort(port: number): Promise<Binding> {
  const server = await bindStore(port);
  if (!(server instanceof StoreServer)) return server;
  await server.close();
  return { kind: 'free' };
}

async function isStore(port: number): Promise<boolean> {
  try {
    const store = await connectStore({
      host: '127.0.0.1',
      port,
      timeoutMs: neighbourMs,
      log: () => undefined,
    });
    await store.close();
    return true;
  } catch (error) {
    // The store of a job with another secret.
    return error instanceof RingrunError && error.code === 'ERR_SECRET_MISMATCH';
  }
}
