import { setTimeout as sleep } from 'node:timers/promises';
import { RingrunError, createCpuGroup, createNcclGroup, hasFailed } from '@ringrun/collectives';
import type { CpuGroupOptions, ProcessGroup, Store } from '@ringrun/collectives';
import { deleteNumbered } from '../store/delete-prefix.ts';
import { PrefixStore } from '../store/prefix-store.ts';
import type { InitSettings } from './init-method.ts';
import { agreeOnMaster } from './master-address.ts';
import { namingServer, openGroupStore } from './group-store.ts';
import { joinJob } from './joining.ts';
import type { JoinedRound } from './joining.ts';
import { describeSelf, sayGoodbye, waitForGoodbyes } from './membership.ts';

/**
 * Membership of this process in a job: the group of all ranks, and what is needed to form further groups and to leave.
 */
export interface Session {
  readonly group: ProcessGroup;
  /** Keys of this session, until the next `initProcessGroup`. `group/0` is the group of all ranks. */
  readonly store: Store;
  /** Keys that outlive the workers, also across restarts. Undefined without a launcher. */
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
}

/** Milliseconds that the rank that serves the store waits for ranks that leave later, or that have died. */
const goodbyeMs = 5000;

/** Joins the job and forms the group of all ranks. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { settings, timeoutMs } = options;
  const { rank, worldSize: size } = settings;
  const found = await openGroupStore(settings, timeoutMs);
  let joined: JoinedRound | undefined;
  try {
    const keys = new PrefixStore(`restart/${settings.restartCount}`, found.store);
    if (size > 1) {
      const { servedByRank0 } = found;
      joined = await joinJob(keys, describeSelf(rank, size, settings.runId), { timeoutMs, servedByRank0 });
    }
    const store = joined?.store ?? new PrefixStore('init/0', keys);
    if (rank === 0 && size > 1) await deleteNumbered(found.store, 'restart', settings.restartCount - 1);
    const groupStore = joined?.groupStore ?? new PrefixStore('group/0', store);
    const masterAddress = await agreeOnMaster(groupStore, settings);
    const formGroup = groupFormer(options);
    const group = await formGroup({ store: groupStore, rank, size, timeoutMs, masterAddress });
    joined?.formed();
    const leave = async () => {
      try {
        const failedBefore = hasFailed(group);
        await group.destroy();
        // Not after a failure: a rank that has died never calls sayGoodbye, and rank 0 may not serve the store any more.
        if (found.servedByRank0 && !failedBefore) await leaveStore(store, rank, size);
      } finally {
        await found.release();
      }
    };
    const jobStore = settings.place.kind === 'launcher' ? new PrefixStore('job', found.store) : undefined;
    return { group, store, jobStore, timeoutMs, masterAddress, formGroup, leave };
  } catch (error) {
    await joined?.giveUp(error);
    await found.abandon();
    throw found.servedByRank0 ? namingServer(error, settings) : error;
  }
}

/** All groups of a process use the same GPU. */
function groupFormer({ backend, device }: SessionOptions): FormGroup {
  if (backend === 'gloo') return createCpuGroup;
  return (options) => createNcclGroup(device === undefined ? options : { ...options, device });
}

/** Leaves the store; rank 0, which serves it, waits for the others to leave. Ranks that died before are no error. */
async function leaveStore(store: Store, rank: number, worldSize: number): Promise<void> {
  try {
    await Promise.race([sayGoodbye(store, rank), sleep(goodbyeMs, undefined, { ref: false })]);
    if (rank === 0) await waitForGoodbyes(store, worldSize, goodbyeMs);
  } catch (error) {
    if (!(error instanceof RingrunError)) throw error;
  }
}
