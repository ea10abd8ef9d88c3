import { InvalidArgumentError, RingrunError, defaultTimeoutMs, requireOptions } from '@ringrun/collectives';
import type { OptionNames, ProcessGroup, Store } from '@ringrun/collectives';
import { readingUserInput } from '../errors/user-mistake.ts';
import { installErrorRecord } from '../errors/error-record.ts';
import { settleInitMethod } from './init-method.ts';
import type { InitMethod } from './init-method.ts';
import { openSession } from './session.ts';
import type { Session } from './session.ts';
import { currentState, enterState, readyState } from './state.ts';
import { Subgroups } from './subgroups.ts';

export interface InitProcessGroupOptions {
  /**
   * `gloo` unless given: over processors, through shared memory and TCP. `nccl`: over GPUs, one for each rank; arrays of this host are taken through them. Where a rank has no GPU,
   * no driver or no NCCL, every rank gets RingrunError `ERR_NCCL_UNAVAILABLE` with what was looked for, and where.
   */
  backend?: 'gloo' | 'nccl';
  /** Of `nccl`: this rank's GPU among those that CUDA_VISIBLE_DEVICES lets it see (torch: device_id); unless given, LOCAL_RANK, counted round. */
  device?: number;
  /**
   * Where the ranks meet. `env://` unless given: the environment says rank, world size and the address. `tcp://host:port`: rank 0 hosts the store there.
   * `file:///path`: a file that all processes see and may write to; the last of them to leave removes it (see `FileStore`).
   * The last two need rank and world size, as options or in the URL: `tcp://host:port?rank=0&world_size=2`.
   */
  initMethod?: InitMethod;
  /** This process among all, from 0; for `env://` RANK unless given. */
  rank?: number;
  /** Number of processes; for `env://` WORLD_SIZE unless given. */
  worldSize?: number;
  /** A store that all ranks share already; it is not closed at the end. In place of `initMethod`; needs rank and world size. */
  store?: Store;
  /** Milliseconds that meeting the other ranks may take, and each operation of the group afterwards; 30 minutes unless given. */
  timeoutMs?: number;
}

const optionNames: OptionNames<InitProcessGroupOptions> = {
  backend: true,
  initMethod: true,
  timeoutMs: true,
  worldSize: true,
  rank: true,
  store: true,
  device: true,
};

const backends: readonly unknown[] = ['gloo', 'nccl'] satisfies InitProcessGroupOptions['backend'][];

let generation = 0;

/**
 * Meets the other ranks of the job and makes the default group (torch.distributed.init_process_group). Every rank calls it; it resolves
 * on all of them when the last one is there. With neither RANK nor WORLD_SIZE set the group is this process alone, and no port is opened.
 *
 * @throws InvalidArgumentError for settings that cannot work; StoreTimeoutError when ranks are missing at the end of the time;
 * RingrunError `ERR_PORT_IN_USE`, `ERR_RANK_TAKEN`, `ERR_JOB_MISMATCH`, … after which it may be called again.
 */
export async function initProcessGroup(options: InitProcessGroupOptions = {}): Promise<void> {
  requireOptions('initProcessGroup', options, optionNames);
  const before = currentState();
  if (before.phase !== 'none' && before.phase !== 'destroyed') {
    throw new RingrunError(
      'ERR_ALREADY_INITIALIZED',
      'initProcessGroup was called a second time. Call it once per process, or await destroyProcessGroup() in between.',
    );
  }
  checkChoices(options);
  const settings = readingUserInput(() => settleInitMethod(options, process.env));
  installErrorRecord();
  enterState({ phase: 'starting' });
  try {
    const { timeoutMs = defaultTimeoutMs, backend = 'gloo', device } = options;
    const session = await openSession({ settings, timeoutMs, generation, backend, device });
    generation += 1;
    enterState({ phase: 'ready', session, subgroups: new Subgroups(session) });
    process.once('beforeExit', leaveAtExit);
  } catch (error) {
    enterState(before);
    // Every rank was told this. They have met, and may meet once more, over gloo: under keys of their own.
    if (error instanceof RingrunError && error.code === 'ERR_NCCL_UNAVAILABLE') generation += 1;
    throw error;
  }
}

/**
 * Ends a group on this rank, after what is in flight in it (torch.distributed.destroy_process_group): each of its members calls it. Without a group,
 * or with the default one, ends all: those of newGroup first, in the order in which they were made. Null, for a group in which this rank is not, is ignored.
 *
 * A program that ends without it does the same when it has nothing left to do; one that calls `process.exit` should await it before.
 */
export async function destroyProcessGroup(group?: ProcessGroup | null): Promise<void> {
  const state = currentState();
  if (state.phase === 'leaving') return state.left;
  const { session, subgroups } = readyState('destroyProcessGroup');
  if (group === null) return;
  if (group !== undefined && group !== session.group) return subgroups.destroy(group);
  process.removeListener('beforeExit', leaveAtExit);
  const left = leave(session, subgroups).finally(() => {
    enterState({ phase: 'destroyed' });
  });
  enterState({ phase: 'leaving', left });
  return left;
}

async function leave(session: Session, subgroups: Subgroups): Promise<void> {
  try {
    await subgroups.destroyAll();
  } finally {
    await session.leave();
  }
}

/** Whether there is a default group now. */
export function isInitialized(): boolean {
  return currentState().phase === 'ready';
}

/** The event loop is empty: nobody will call destroyProcessGroup any more. */
function leaveAtExit(): void {
  void destroyProcessGroup();
}

/** JavaScript callers can ask for more than the types allow. */
function checkChoices(options: InitProcessGroupOptions): void {
  const { backend = 'gloo', device, timeoutMs = defaultTimeoutMs } = options;
  if (!backends.includes(backend)) {
    throw new InvalidArgumentError(
      `There is no backend "${backend}": expected 'gloo', which runs on every machine, or 'nccl', for NVIDIA's GPUs.`,
    );
  }
  if (device !== undefined && backend !== 'nccl') {
    throw new InvalidArgumentError(
      `device is ${device} and the backend ${backend}, which has no GPUs: expected it with backend 'nccl' only.`,
    );
  }
  if (!(timeoutMs > 0)) {
    throw new InvalidArgumentError(`timeoutMs is ${timeoutMs}, expected a number of milliseconds above 0.`);
  }
}
