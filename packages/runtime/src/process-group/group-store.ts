import { hostname } from 'node:os';
import { HashStore } from '@ringrun/collectives';
import { RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import {
  connectStore,
  fileLimitWarning,
  FileStore,
  formatHostPort,
  isLoopback,
  jobSecret,
  noSecretWarning,
  requireSecret,
  serveStoreInThread,
} from '@ringrun/rendezvous';
import type { HostPort, ThreadedStoreServer } from '@ringrun/rendezvous';
import type { InitSettings } from './init-method.ts';
import { describeMissingMembers } from './membership.ts';

/** The rendezvous store of a job, opened by this rank. */
export interface GroupStore {
  store: Store;
  servedByRank0: boolean;
  /** Closes this rank's use of the store. */
  release(): Promise<void>;
  /** Closes this rank's use of the store if no group was formed. */
  abandon(): Promise<void>;
}

/**
 * The store that this process serves as rank 0. It outlives the group, even if the group could not be formed: faster
 * ranks may already have written the keys of the next group at the same address. It ends when this process opens
 * another store, because the other ranks then use that one too.
 */
let served: { address: string; server: ThreadedStoreServer } | undefined;

/** Opens the store. Waits for its server, and prints lines about the wait. */
export async function openGroupStore(settings: InitSettings, timeoutMs: number): Promise<GroupStore> {
  const { place, rank, worldSize } = settings;
  if (worldSize > 1) requireSecret();
  const address = place.kind === 'rank 0' && rank === 0 ? addressServedAt(place.at) : undefined;
  if (served && (address === undefined || formatHostPort(address) !== served.address)) await endServed();
  if (place.kind === 'given') {
    return { store: place.store, servedByRank0: false, release: nothingToDo, abandon: nothingToDo };
  }
  if (worldSize === 1) return opened(new HashStore());
  const who = { who: `rank ${rank}`, describeKeys: describeMissingMembers, timeoutMs };
  if (place.kind === 'file') return openFile(place.path, { ...who, worldSize });
  if (place.kind === 'launcher') return opened(await connectStore({ ...place.at, ...who }));
  if (rank > 0) {
    const store = await connectStore({ ...place.at, ...who }).catch((error: unknown) => {
      throw explainMissingServer(error, settings);
    });
    return opened(store, true);
  }
  const warning = fileLimitWarning(worldSize);
  if (warning !== undefined) process.stderr.write(`${warning}\n`);
  return serveForOthers(place.at, who);
}

/**
 * The error of a rank that cannot form a group because the process of rank 0, and with it the store, has ended or never
 * started.
 */
export function explainMissingServer(error: unknown, { rank, worldSize }: InitSettings): unknown {
  if (!(error instanceof RingrunError) || error.message.includes('Rank 0, which serves the store'))
    return error;
  if (error.code === 'ERR_STORE_LOST') {
    return new RingrunError(
      error.code,
      `Rank 0, which serves the store, ended while rank ${rank} of ${worldSize} was in initProcessGroup: ${error.message}`,
      { cause: error },
    );
  }
  const isUnanswered = error instanceof StoreTimeoutError && error.missingKeys.length === 0;
  if (!isUnanswered) return error;
  return new StoreTimeoutError([], `Rank 0, which serves the store, is missing: ${error.message}`);
}

type Waiting = Omit<Parameters<typeof connectStore>[0], keyof HostPort>;

async function serveForOthers(at: HostPort, who: Waiting): Promise<GroupStore> {
  const { host } = addressServedAt(at);
  const server = await serveAsRank0({ host, port: at.port });
  if (host === '*' && !served && jobSecret() === undefined) process.stderr.write(`${noSecretWarning}\n`);
  served = { address: formatHostPort({ host, port: at.port }), server };
  const reachedAt = host === '*' ? '127.0.0.1' : host;
  return opened(await connectStore({ host: reachedAt, port: at.port, ...who }), true);
}

async function endServed(): Promise<void> {
  const ending = served?.server;
  served = undefined;
  await ending?.close();
}

async function openFile(path: string, options: Waiting & { worldSize: number }): Promise<GroupStore> {
  const store = await FileStore.open(path, options);
  return { ...opened(store), abandon: () => store.withdraw() };
}

function opened(store: Store, servedByRank0 = false): GroupStore {
  const release = () => store.close();
  return { store, servedByRank0, release, abandon: release };
}

async function serveAsRank0(address: HostPort): Promise<ThreadedStoreServer> {
  try {
    return await serveStoreInThread(address);
  } catch (error) {
    if (!(error instanceof RingrunError) || error.code !== 'ERR_PORT_IN_USE') throw error;
    throw new RingrunError(
      error.code,
      `Rank 0 (process ${process.pid} on ${hostname()}) failed to start: ${error.message} ` +
        `If that process belongs to this job, two processes were started with RANK=0.`,
    );
  }
}

function nothingToDo(): Promise<void> {
  return Promise.resolve();
}

/**
 * With a loopback master address all ranks are on this machine, so the store must not be reachable from others. In a
 * Kubernetes pod the master's own MASTER_ADDR may be `localhost`, while the other pods use its service's name.
 */
function addressServedAt({ host, port }: HostPort): HostPort {
  const isForThisMachine = isLoopback(host) && process.env['KUBERNETES_SERVICE_HOST'] === undefined;
  return { host: isForThisMachine ? host : '*', port };
}
