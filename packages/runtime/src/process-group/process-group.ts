import { requestedLinks } from '@ringrun/collectives';
import {
  defaultTimeoutMs,
  InvalidArgumentError,
  otherRuntimeProblem,
  registry,
  requireOptions,
  RingrunError,
} from '@ringrun/core';
import type { Links, OptionNames, ProcessGroup, Store } from '@ringrun/core';
import { awaitsAtTopLevel, installErrorRecord } from '@ringrun/launcher';
import { endedEarly } from './early-end.ts';
import { readingUserInput } from './user-mistake.ts';
import { explainMissingStacks } from './without-launcher.ts';
import { settleInitMethod } from './init-method.ts';
import type { InitMethod } from './init-method.ts';
import { openSession } from './session.ts';
import type { Session } from './session.ts';
import { currentState, enterState, readyState } from './state.ts';
import { Subgroups } from './subgroups.ts';

/** Options of {@link initProcessGroup}. */
export interface InitProcessGroupOptions {
  /**
   * `gloo`: on CPUs, over shared memory and TCP. This is ringrun's own CPU backend under torch's name for it; `cpu` is
   * an alias, and `getBackend` returns `gloo` for both. `nccl`: on GPUs, one for each rank; arrays in host memory are
   * copied through the GPU. If a rank has no GPU, driver or NCCL, every rank throws RingrunError
   * `ERR_NCCL_UNAVAILABLE` with the paths searched. Default: `gloo`.
   */
  backend?: 'gloo' | 'cpu' | 'nccl';
  /**
   * For `nccl`: index of this rank's GPU among those that CUDA_VISIBLE_DEVICES allows (torch: device_id).
   * Default: LOCAL_RANK modulo the number of GPUs.
   */
  device?: number;
  /**
   * How ranks find each other. `env://`: by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. `tcp://host:port`: at the
   * address of rank 0's store. `file:///path`: in a file that all processes can write to; the last one to leave removes
   * it (see `FileStore`). The last two need rank and world size, as options or in the URL:
   * `tcp://host:port?rank=0&world_size=2`. Default: `env://`.
   */
  initMethod?: InitMethod;
  /** Rank of this process, from 0. Default for `env://`: RANK. */
  rank?: number;
  /** Number of processes. Default for `env://`: WORLD_SIZE. */
  worldSize?: number;
  /**
   * A store that all ranks share, instead of `initMethod`. Needs rank and world size. It is not closed by
   * destroyProcessGroup.
   */
  store?: Store;
  /** Timeout in milliseconds of initialization, and of each operation of the group. Default: 30 minutes. */
  timeoutMs?: number;
  /**
   * Encrypts the connections between hosts. Needs a secret of the job (RINGRUN_SECRET); the same on every rank. Shared
   * memory and connections within a host are not encrypted. Default: RINGRUN_ENCRYPT.
   */
  encrypt?: boolean;
  /**
   * Milliseconds without any answer from the host of another rank (it vanished, or the link is cut) after which that
   * rank counts as dead, between 1 s and 1 day. Default: RINGRUN_SILENT_PEER_TIMEOUT_S, or 15 s.
   */
  silentPeerTimeoutMs?: number;
  /**
   * The links between hosts: `measure` measures them in about a second when the group has connected; otherwise an object, or
   * the path of a JSON file that contains it. Collectives then send data around slow links, and choose algorithms by delay
   * and bandwidth. Measured links may differ from run to run, and with them the order of additions: only given links keep
   * results bit-identical in every run. The same on every rank. Default: RINGRUN_LINKS, or none: all links are alike.
   */
  links?: Links | string;
}

const optionNames: OptionNames<InitProcessGroupOptions> = {
  backend: true,
  initMethod: true,
  timeoutMs: true,
  worldSize: true,
  rank: true,
  store: true,
  device: true,
  encrypt: true,
  silentPeerTimeoutMs: true,
  links: true,
};

const backends: Readonly<Record<NonNullable<InitProcessGroupOptions['backend']>, ProcessGroup['backend']>> = {
  gloo: 'gloo',
  cpu: 'gloo',
  nccl: 'nccl',
};

/**
 * Joins the job and creates the default group (torch.distributed.init_process_group). Every rank must call it; it
 * resolves after the last rank has joined. If neither RANK nor WORLD_SIZE is set, the group is this process alone and
 * no port is opened.
 *
 * @throws InvalidArgumentError for invalid settings; StoreTimeoutError if ranks are missing at the timeout;
 * RingrunError `ERR_PORT_IN_USE`, `ERR_RANK_TAKEN`, `ERR_JOB_MISMATCH`, … After an error it may be called again.
 */
export async function initProcessGroup(options: InitProcessGroupOptions = {}): Promise<void> {
  requireOptions('initProcessGroup', options, optionNames);
  const problem = otherRuntimeProblem();
  if (problem !== undefined) throw new RingrunError('ERR_RUNTIME', `initProcessGroup: ${problem}.`);
  const before = currentState();
  if (before.phase !== 'none' && before.phase !== 'destroyed') {
    throw new RingrunError(
      'ERR_ALREADY_INITIALIZED',
      'initProcessGroup failed: the process group is already initialized. Call it once per process, or await destroyProcessGroup() first.',
    );
  }
  const { timeoutMs = defaultTimeoutMs, device, encrypt, silentPeerTimeoutMs } = options;
  const backend = checkedBackend(options.backend);
  checkChoices(backend, device, timeoutMs);
  const settings = readingUserInput(() => settleInitMethod(options, process.env));
  const links = readingUserInput(() => requestedLinks(options.links));
  installErrorRecord();
  explainMissingStacks();
  enterState({ phase: 'starting' });
  try {
    const session = await openSession({
      settings,
      timeoutMs,
      backend,
      device,
      encrypt,
      silentPeerTimeoutMs,
      links,
    });
    enterState({ phase: 'ready', session, subgroups: new Subgroups(session) });
    process.once('beforeExit', leaveAtExit);
  } catch (error) {
    enterState(before);
    registry.groupFailure = error;
    throw error;
  }
}

/**
 * Destroys a group after its operations in flight have finished (torch.distributed.destroy_process_group). Every member
 * must call it. Without `group`, or with the default group, destroys all groups: those of newGroup first, in the order
 * of their creation. Null (a group that does not include this rank) is ignored.
 *
 * Called automatically when the event loop is empty. Await it before `process.exit`.
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

/** True between `initProcessGroup` and `destroyProcessGroup`. */
export function isInitialized(): boolean {
  return currentState().phase === 'ready';
}

/** The event loop is empty, so the program can no longer call destroyProcessGroup. */
function leaveAtExit(): void {
  // Node then exits with 13, and the other ranks throw a PeerDiedError.
  if (awaitsAtTopLevel()) return;
  void leaveAfterScript();
}

async function leaveAfterScript(): Promise<void> {
  const { rank } = readyState('destroyProcessGroup').session.group;
  const before = registry.groupFailure;
  try {
    await destroyProcessGroup();
  } catch (error) {
    throw endedEarly(error, rank) ?? error;
  }
  // A fault-tolerant job leaves a group that has failed, too.
  const early = registry.groupFailure === before ? undefined : endedEarly(registry.groupFailure, rank);
  if (early !== undefined) throw early;
}

/** JavaScript callers can pass values that the types forbid. */
function checkedBackend(backend: keyof typeof backends = 'gloo'): ProcessGroup['backend'] {
  if (Object.hasOwn(backends, backend)) return backends[backend];
  throw new InvalidArgumentError(
    `initProcessGroup failed: expected the backend 'gloo' (CPU) or 'nccl' (NVIDIA GPUs), got "${backend}".`,
  );
}

function checkChoices(backend: ProcessGroup['backend'], device: number | undefined, timeoutMs: number): void {
  if (device !== undefined && backend !== 'nccl') {
    throw new InvalidArgumentError(
      `initProcessGroup failed: expected device only with the backend 'nccl', got device ${device} with the backend '${backend}'.`,
    );
  }
  if (!(timeoutMs > 0)) {
    throw new InvalidArgumentError(`timeoutMs is ${timeoutMs}, expected a number of milliseconds above 0.`);
  }
}
