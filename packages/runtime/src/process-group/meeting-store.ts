import { hostname } from 'node:os';
import { HashStore, RingrunError } from '@ringrun/collectives';
import type { Store } from '@ringrun/collectives';
import { connectStore } from '../store/client.ts';
import { isLoopback } from '../store/endpoint.ts';
import type { HostPort } from '../store/endpoint.ts';
import { fileLimitWarning } from '../store/file-limit.ts';
import { hostStore } from '../store/hosted-store.ts';
import type { HostedStore } from '../store/hosted-store.ts';
import type { InitSettings } from './init-method.ts';
import { describeMissingMembers } from './membership.ts';

/** The rendezvous store of a job, opened by this rank. */
export interface MeetingStore {
  store: Store;
  hostedByRank0: boolean;
  /** Closes this rank's use of the store. */
  release(): Promise<void>;
  /** Closes the store if no group was formed, also the server in this process. */
  abandon(): Promise<void>;
}

/** Opens the store. Waits for its server, and prints what it waits for. */
export async function openMeetingStore(settings: InitSettings, timeoutMs: number): Promise<MeetingStore> {
  const { place, rank, worldSize } = settings;
  if (place.kind === 'given') {
    return { store: place.store, hostedByRank0: false, release: nothingToDo, abandon: nothingToDo };
  }
  if (worldSize === 1) return found(new HashStore());
  const who = { who: `rank ${rank}`, describeKeys: describeMissingMembers, timeoutMs };
  if (place.kind === 'file') return openFile(place.path, { ...who, worldSize });
  if (place.kind === 'launcher') return found(await connectStore({ ...place.at, ...who }));
  if (rank > 0) return found(await connectStore({ ...place.at, ...who }), true);
  const warning = fileLimitWarning(worldSize);
  if (warning !== undefined) process.stderr.write(`${warning}\n`);
  return hostForOthers(place.at, who);
}

type Waiting = Omit<Parameters<typeof connectStore>[0], keyof HostPort>;

async function hostForOthers(at: HostPort, who: Waiting): Promise<MeetingStore> {
  const host = hostToBind(at.host, process.env);
  const hosted = await hostAsRank0({ host, port: at.port });
  const reachedAt = host === '*' ? '127.0.0.1' : host;
  const meeting = found(await connectStore({ host: reachedAt, port: at.port, ...who }), true);
  const abandon = async () => {
    await meeting.release();
    await hosted.close();
  };
  return { ...meeting, abandon };
}

/** `FileStore` is loaded on demand. */
async function openFile(path: string, options: Waiting & { worldSize: number }): Promise<MeetingStore> {
  const { FileStore } = await import('../store/file-store.ts');
  const store = await FileStore.open(path, options);
  return { ...found(store), abandon: () => store.withdraw() };
}

function found(store: Store, hostedByRank0 = false): MeetingStore {
  const release = () => store.close();
  return { store, hostedByRank0, release, abandon: release };
}

async function hostAsRank0(place: HostPort): Promise<HostedStore> {
  try {
    return await hostStore(place);
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
function hostToBind(masterAddress: string, env: NodeJS.ProcessEnv): string {
  return isLoopback(masterAddress) && env['KUBERNETES_SERVICE_HOST'] === undefined ? masterAddress : '*';
}
