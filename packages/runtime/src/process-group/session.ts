import { hostname } from 'node:os';
import { HashStore, RingrunError, createGlooGroup } from '@ringrun/collectives';
import type { ProcessGroup, Store } from '@ringrun/collectives';
import { isLoopback } from '../store/endpoint.ts';
import type { HostPort } from '../store/endpoint.ts';
import { hostStore } from '../store/hosted-store.ts';
import type { HostedStore } from '../store/hosted-store.ts';
import { describeMissingMembers, describeSelf, joinJob, sayGoodbye, waitForGoodbyes } from './membership.ts';
import { PrefixStore } from '../store/prefix-store.ts';
import { connectStore } from '../store/client.ts';
import type { EnvironmentSettings } from './environment.ts';

/** A process's stay in a job: the group of all ranks, what further groups are formed with, and the way out. */
export interface Session {
  readonly group: ProcessGroup;
  /** Keys that this job has for itself, until the next `initProcessGroup`. `group/0` is the group of all ranks. */
  readonly store: Store;
  /** Milliseconds for meeting the ranks of a group, and for each of its operations. */
  readonly timeoutMs: number;
  readonly masterAddress: string;
  /** Destroys the group; whoever hosts the store stays (some seconds at most) until nobody needs it. */
  leave(): Promise<void>;
}

export interface SessionOptions {
  settings: EnvironmentSettings;
  /** The caller's own store; undefined: the one that the settings say. */
  store: Store | undefined;
  timeoutMs: number;
  /** How many groups this process has initialised before: all ranks have the same number, so their keys meet. */
  generation: number;
}

/** Milliseconds that the host of the store waits for ranks that leave later, or without a word. */
const goodbyeMs = 5000;

/** Meets the other ranks and forms the group with them. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { settings, timeoutMs } = options;
  const { rank, worldSize: size, masterAddress } = settings;
  const found = await openStore(options);
  try {
    const store = new PrefixStore(`restart/${settings.restartCount}/init/${options.generation}`, found.store);
    if (size > 1) await joinJob(store, describeSelf(rank, size, settings.runId), timeoutMs);
    const group = await createGlooGroup({
      store: new PrefixStore('group/0', store),
      rank,
      size,
      timeoutMs,
      masterAddress,
    });
    const leave = async () => {
      try {
        await group.destroy();
        // Not after a failure: who is gone says no goodbye.
        if (found.hostedByRank0) await leaveStore(store, rank, size);
      } finally {
        await found.release();
      }
    };
    return { group, store, timeoutMs, masterAddress, leave };
  } catch (error) {
    await found.abandon();
    throw error;
  }
}

interface FoundStore {
  store: Store;
  hostedByRank0: boolean;
  /** Ends the use of it. */
  release(): Promise<void>;
  /** Ends the use of it when no group was formed: nobody needs what this process hosts. */
  abandon(): Promise<void>;
}

async function openStore({ settings, store, timeoutMs }: SessionOptions): Promise<FoundStore> {
  if (store) return { store, hostedByRank0: false, release: nothingToDo, abandon: nothingToDo };
  if (settings.worldSize === 1) return foundStore(new HashStore());
  const who = { who: `rank ${settings.rank}`, describeKeys: describeMissingMembers, timeoutMs };
  if (settings.store) return foundStore(await connectStore({ ...settings.store, ...who }));

  const { rank, masterAddress, masterPort: port } = settings;
  if (rank > 0) return foundStore(await connectStore({ host: masterAddress, port, ...who }), true);
  const host = hostToBind(masterAddress, process.env);
  const hosted = await hostAsRank0({ host, port });
  const found = foundStore(
    await connectStore({ host: host === '*' ? '127.0.0.1' : host, port, ...who }),
    true,
  );
  const abandon = async () => {
    await found.release();
    await hosted.close();
  };
  return { ...found, abandon };
}

function foundStore(store: Store, hostedByRank0 = false): FoundStore {
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
      `Rank 0 (process ${process.pid} on ${hostname()}): ${error.message} ` +
        `If that process belongs to this job, two processes were started with RANK=0.`,
    );
  }
}

function nothingToDo(): Promise<void> {
  return Promise.resolve();
}

/**
 * A job whose master is a loopback address stays on this machine, and its store is nobody else's business. In a Kubernetes pod the
 * master may know itself as `localhost` while the other pods know it by its service's name.
 */
function hostToBind(masterAddress: string, env: NodeJS.ProcessEnv): string {
  return isLoopback(masterAddress) && env['KUBERNETES_SERVICE_HOST'] === undefined ? masterAddress : '*';
}

/** Leaves the store, and as its host waits for the others to leave it. Ranks that went without a word are no reason to fail. */
async function leaveStore(store: Store, rank: number, worldSize: number): Promise<void> {
  try {
    await sayGoodbye(store, rank);
    if (rank === 0) await waitForGoodbyes(store, worldSize, goodbyeMs);
  } catch (error) {
    if (!(error instanceof RingrunError)) throw error;
  }
}
