import { setTimeout as sleep } from 'node:timers/promises';
import {
  createCpuGroup,
  createNcclGroup,
  groupLinks,
  hasFailed,
  HashStore,
  savedLinksPath,
  silentPeerTimeout,
  writeLinksFile,
} from '@ringrun/collectives';
import type { CpuGroupOptions, RequestedLinks } from '@ringrun/collectives';
import { RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { ProcessGroup, Store } from '@ringrun/core';
import {
  PrefixStore,
  dataConnectionSecurity,
  deleteNumbered,
  isJoinable,
  jobEnded,
  readJob,
} from '@ringrun/rendezvous';
import type { Job } from '@ringrun/rendezvous';
import type { InitSettings } from './init-method.ts';
import { agreeOnMaster } from './master-address.ts';
import { explainMissingServer, openGroupStore } from './group-store.ts';
import type { GroupStore } from './group-store.ts';
import { joinJob } from './joining.ts';
import type { JoinedRound } from './joining.ts';
import { describeSelf, goodbyeMs, sayGoodbye, waitForGoodbyes } from './membership.ts';

/**
 * Membership of this process in a job: the group of all ranks, and the means to form further groups and to leave.
 */
export interface Session {
  /** The default group. Replaced after a recovery. */
  group: ProcessGroup;
  /** RANK and WORLD_SIZE, which stay the same after a recovery. */
  readonly startedAs: { readonly rank: number; readonly worldSize: number };
  /** Keys of all groups that this job forms until its workers are restarted. */
  readonly recoveryStore: Store;
  /** True if the store ends with the process of rank 0. */
  readonly servedByRank0: boolean;
  /** The fault-tolerant job that this process has not joined yet: `group` is this process alone. */
  joins: Job | undefined;
  /** Leaves a fault-tolerant job; replaces the farewell of the default group's ranks. */
  leaveBy?: () => Promise<void>;
  /** Keys of this session, until the next `initProcessGroup`. `group/0` is the group of all ranks. */
  readonly store: Store;
  /** Keys that outlive the workers, even across restarts. Undefined without a launcher. */
  readonly jobStore: Store | undefined;
  /** Timeout of forming a group, and of each of its operations. */
  readonly timeoutMs: number;
  readonly masterAddress: string;
  /** Creates a group of the session's backend. */
  readonly formGroup: FormGroup;
  /** Destroys the group. The rank that serves the store waits until the others have left, at most `goodbyeMs`. */
  leave(): Promise<void>;
}

/** Every rank of the new group must call it. Options and errors as for createCpuGroup. */
export type FormGroup = (options: CpuGroupOptions) => Promise<ProcessGroup>;

export interface SessionOptions {
  settings: InitSettings;
  timeoutMs: number;
  backend: ProcessGroup['backend'];
  /** The option `device` of initProcessGroup. */
  device: number | undefined;
  /** The option `encrypt` of initProcessGroup. */
  encrypt: boolean | undefined;
  /** The option `silentPeerTimeoutMs` of initProcessGroup. */
  silentPeerTimeoutMs: number | undefined;
  /** The option `links` of initProcessGroup, or RINGRUN_LINKS. */
  links: RequestedLinks;
}

/** Milliseconds that a process waits for another job of the same ranks if their job ended before it could join. */
const maxAfterEndMs = 30_000;

/** Whether this process has been a rank of a job. */
let hasBeenRank = false;

/** Joins the job and forms the group of all ranks. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { settings, timeoutMs } = options;
  const { rank, worldSize: size } = settings;
  const connections = {
    ...dataConnectionSecurity(options.encrypt),
    silentPeerTimeoutMs: silentPeerTimeout(options.silentPeerTimeoutMs),
  };
  const saveLinksTo = rank === 0 ? savedLinksPath(options.links) : undefined;
  const found = await openGroupStore(settings, timeoutMs);
  let joined: JoinedRound | undefined;
  try {
    const keys = new PrefixStore(`restart/${settings.restartCount}`, found.store);
    const formGroup = groupFormer(options, connections);
    const common = {
      startedAs: { rank, worldSize: size },
      recoveryStore: keys,
      servedByRank0: found.servedByRank0,
      jobStore: settings.place.kind === 'launcher' ? new PrefixStore('job', found.store) : undefined,
      timeoutMs,
      formGroup,
    };
    const job = size > 1 ? await readJob(keys) : undefined;
    if (job !== undefined && isJoinable(job)) return await sessionAlone({ ...common, joins: job }, found);
    if (size > 1) {
      const { servedByRank0 } = found;
      const self = describeSelf(rank, size, settings.runId);
      const join = (limitMs: number) => joinJob(keys, self, { timeoutMs: limitMs, servedByRank0 });
      joined = job === undefined || hasBeenRank ? await join(timeoutMs) : await joinAfterEnd(join, timeoutMs);
    }
    const store = joined?.store ?? new PrefixStore('init/0', keys);
    if (rank === 0 && size > 1) await deleteNumbered(found.store, 'restart', settings.restartCount - 1);
    const groupStore = joined?.groupStore ?? new PrefixStore('group/0', store);
    const masterAddress = await agreeOnMaster(groupStore, settings);
    const group = await formGroup({ store: groupStore, rank, size, timeoutMs, masterAddress });
    if (saveLinksTo !== undefined) writeLinksFile(saveLinksTo, groupLinks(group)!);
    joined?.formed();
    hasBeenRank = true;
    const session: Session = { ...common, joins: undefined, group, store, masterAddress, leave };
    return session;

    async function leave(): Promise<void> {
      try {
        if (session.leaveBy !== undefined) {
          await session.leaveBy();
          return;
        }
        const failedBefore = hasFailed(group);
        await group.destroy();
        // Not after a failure: a dead rank never calls sayGoodbye, and rank 0 may no longer serve the store.
        if (found.servedByRank0 && !failedBefore) await leaveStore(store, rank, size);
      } finally {
        await found.release();
      }
    }
  } catch (error) {
    await joined?.giveUp(error);
    await found.abandon();
    throw found.servedByRank0 ? explainMissingServer(error, settings) : error;
  }
}

/**
 * Joins the next job of the ranks whose fault-tolerant job has ended while this process started. Most jobs are the last ones of
 * their ranks, so the time is limited.
 */
async function joinAfterEnd<T>(join: (timeoutMs: number) => Promise<T>, timeoutMs: number): Promise<T> {
  try {
    return await join(Math.min(timeoutMs, maxAfterEndMs));
  } catch (error) {
    if (!(error instanceof StoreTimeoutError)) throw error;
    throw jobEnded('the others had already finished it');
  }
}

/** A process that joins a running job is alone until it has received the state of the training. */
async function sessionAlone(
  common: Omit<Session, 'group' | 'store' | 'masterAddress' | 'leave' | 'joins'> & { joins: Job },
  found: GroupStore,
): Promise<Session> {
  const { timeoutMs, joins } = common;
  const store = new HashStore();
  const group = await createCpuGroup({ store, rank: 0, size: 1, timeoutMs });
  hasBeenRank = true;
  const session: Session = { ...common, group, store, masterAddress: joins.masterAddress, leave };
  return session;

  async function leave(): Promise<void> {
    try {
      await (session.leaveBy?.() ?? group.destroy());
    } finally {
      await found.release();
    }
  }
}

/**
 * All groups of a process use the same GPU, the same key and the same timeout of silent peers. Groups of all ranks use the links of
 * the session, and other groups a part of them.
 */
function groupFormer(
  { backend, device, links }: SessionOptions,
  connections: Pick<CpuGroupOptions, 'key' | 'encrypt' | 'silentPeerTimeoutMs'>,
): FormGroup {
  const common = { ...connections, ...(links !== undefined && { links }) };
  if (backend === 'gloo') return (options) => createCpuGroup({ ...common, ...options });
  const onDevice = device === undefined ? common : { ...common, device };
  return (options) => createNcclGroup({ ...onDevice, ...options });
}

/**
 * Leaves the store; rank 0, which serves it, waits for the others to leave. Ranks that died earlier are not an error.
 */
async function leaveStore(store: Store, rank: number, worldSize: number): Promise<void> {
  try {
    await Promise.race([sayGoodbye(store, rank), sleep(goodbyeMs, undefined, { ref: false })]);
    if (rank === 0) await waitForGoodbyes(store, worldSize, goodbyeMs);
  } catch (error) {
    if (!(error instanceof RingrunError)) throw error;
  }
}
