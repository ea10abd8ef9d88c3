import { RingrunError, createGlooGroup, createNcclGroup } from '@ringrun/collectives';
import type { GlooGroupOptions, ProcessGroup, Store } from '@ringrun/collectives';
import { PrefixStore } from '../store/prefix-store.ts';
import type { InitSettings } from './init-method.ts';
import { agreeOnMaster } from './master-address.ts';
import { openMeetingStore } from './meeting-store.ts';
import { describeSelf, joinJob, sayGoodbye, waitForGoodbyes } from './membership.ts';

/** A process's stay in a job: the group of all ranks, what further groups are formed with, and the way out. */
export interface Session {
  readonly group: ProcessGroup;
  /** Keys that this job has for itself, until the next `initProcessGroup`. `group/0` is the group of all ranks. */
  readonly store: Store;
  /** Keys that outlive the workers: those of the next round find them. Undefined without a launcher. */
  readonly jobStore: Store | undefined;
  /** Milliseconds for meeting the ranks of a group, and for each of its operations. */
  readonly timeoutMs: number;
  readonly masterAddress: string;
  /** Makes a group of the session's backend. */
  readonly formGroup: FormGroup;
  /** Destroys the group; whoever hosts the store stays (some seconds at most) until nobody needs it. */
  leave(): Promise<void>;
}

/** A collective of the ranks of the group to be. Options and errors as of createGlooGroup. */
export type FormGroup = (options: GlooGroupOptions) => Promise<ProcessGroup>;

export interface SessionOptions {
  settings: InitSettings;
  timeoutMs: number;
  /** How many groups this process has initialised before: all ranks have the same number, so their keys meet. */
  generation: number;
  backend: ProcessGroup['backend'];
  /** Of nccl: this rank's GPU, if somebody has said which. */
  device: number | undefined;
}

/** Milliseconds that the host of the store waits for ranks that leave later, or without a word. */
const goodbyeMs = 5000;

/** Meets the other ranks and forms the group with them. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { settings, timeoutMs } = options;
  const { rank, worldSize: size } = settings;
  const found = await openMeetingStore(settings, timeoutMs);
  try {
    const store = new PrefixStore(`restart/${settings.restartCount}/init/${options.generation}`, found.store);
    if (size > 1) await joinJob(store, describeSelf(rank, size, settings.runId), timeoutMs);
    const masterAddress = await agreeOnMaster(store, settings);
    const formGroup = groupFormer(options);
    const group = await formGroup({
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
    const jobStore = settings.place.kind === 'launcher' ? new PrefixStore('job', found.store) : undefined;
    return { group, store, jobStore, timeoutMs, masterAddress, formGroup, leave };
  } catch (error) {
    await found.abandon();
    throw error;
  }
}

/** All groups of a process use one GPU. */
function groupFormer({ backend, device }: SessionOptions): FormGroup {
  if (backend === 'gloo') return createGlooGroup;
  return (options) => createNcclGroup(device === undefined ? options : { ...options, device });
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
