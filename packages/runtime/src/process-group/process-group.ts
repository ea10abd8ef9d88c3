import { InvalidArgumentError, RingrunError, defaultTimeoutMs } from '@ringrun/collectives';
import type {
  AllReduceOptions,
  BroadcastOptions,
  CollectiveOptions,
  ProcessGroup,
  Store,
  TypedArray,
} from '@ringrun/collectives';
import { installErrorRecord } from '../errors/error-record.ts';
import { readEnvironment } from './environment.ts';
import { openSession } from './session.ts';
import type { Session } from './session.ts';

export interface InitProcessGroupOptions {
  /** `gloo`, the only one there is, unless given. */
  backend?: 'gloo';
  /** `env://`, the only one there is, unless given: the environment says rank, world size and where to meet. */
  initMethod?: 'env://';
  /** This process among all, from 0; RANK unless given. */
  rank?: number;
  /** Number of processes; WORLD_SIZE unless given. */
  worldSize?: number;
  /** A store that all ranks share already; then no other is opened, and it is not closed at the end. Needs rank and world size. */
  store?: Store;
  /** Milliseconds that meeting the other ranks may take, and each operation of the group afterwards; 30 minutes unless given. */
  timeoutMs?: number;
}

/** Which group an operation runs in. */
export interface GroupOption {
  /** The default group unless given. */
  group?: ProcessGroup;
}

type State =
  | { phase: 'none' | 'starting' | 'destroyed' }
  | { phase: 'ready'; session: Session }
  | { phase: 'leaving'; left: Promise<void> };

let state: State = { phase: 'none' };
let generation = 0;

/**
 * Meets the other ranks of the job and makes the default group (torch.distributed.init_process_group). Every rank calls it; it resolves
 * on all of them when the last one is there. With neither RANK nor WORLD_SIZE set the group is this process alone, and no port is opened.
 *
 * @throws InvalidArgumentError for settings that cannot work; StoreTimeoutError when ranks are missing at the end of the time;
 * RingrunError `ERR_PORT_IN_USE`, `ERR_RANK_TAKEN`, `ERR_JOB_MISMATCH`, … after which it may be called again.
 */
export async function initProcessGroup(options: InitProcessGroupOptions = {}): Promise<void> {
  if (state.phase !== 'none' && state.phase !== 'destroyed') {
    throw new RingrunError(
      'ERR_ALREADY_INITIALIZED',
      'initProcessGroup was called a second time. Call it once per process, or await destroyProcessGroup() in between.',
    );
  }
  checkChoices(options);
  const settings = readEnvironment(process.env, options);
  installErrorRecord();
  const before = state;
  state = { phase: 'starting' };
  try {
    const { store, timeoutMs = defaultTimeoutMs } = options;
    const session = await openSession({ settings, store, timeoutMs, generation });
    generation += 1;
    state = { phase: 'ready', session };
    process.once('beforeExit', leaveAtExit);
  } catch (error) {
    state = before;
    throw error;
  }
}

/**
 * Ends the default group on this rank, after what is in flight (torch.distributed.destroy_process_group). A program that ends without
 * it does the same when it has nothing left to do; one that calls `process.exit` should await it before.
 */
export async function destroyProcessGroup(): Promise<void> {
  if (state.phase === 'leaving') return state.left;
  if (state.phase !== 'ready') throw notInitialized('destroyProcessGroup');
  process.removeListener('beforeExit', leaveAtExit);
  const left = state.session.leave().finally(() => {
    state = { phase: 'destroyed' };
  });
  state = { phase: 'leaving', left };
  return left;
}

/** Whether there is a default group now. */
export function isInitialized(): boolean {
  return state.phase === 'ready';
}

/** The group of all ranks that `initProcessGroup` made. Throws RingrunError `ERR_NOT_INITIALIZED` before and after. */
export function defaultGroup(): ProcessGroup {
  if (state.phase !== 'ready') throw notInitialized('The default process group');
  return state.session.group;
}

/** This process among the group's, from 0. */
export function getRank(group: ProcessGroup = defaultGroup()): number {
  return group.rank;
}

/** Number of processes of the group. */
export function getWorldSize(group: ProcessGroup = defaultGroup()): number {
  return group.size;
}

/** What runs the group's collectives. */
export function getBackend(group: ProcessGroup = defaultGroup()): 'gloo' {
  return group.backend;
}

/** Reduces `tensor` over all ranks, in place on each of them; see `ProcessGroup`. */
export async function allReduce(
  tensor: TypedArray,
  options: AllReduceOptions & GroupOption = {},
): Promise<void> {
  await groupOf(options).allReduce(tensor, options);
}

/** `allReduce` on the calling thread. */
export function allReduceSync(tensor: TypedArray, options: AllReduceOptions & GroupOption = {}): void {
  groupOf(options).allReduceSync(tensor, options);
}

/** Gives `tensor` the values of rank `src` (0 unless given) on every rank; see `ProcessGroup`. */
export async function broadcast(
  tensor: TypedArray,
  options: BroadcastOptions & GroupOption = {},
): Promise<void> {
  await groupOf(options).broadcast(tensor, options);
}

/** `broadcast` on the calling thread. */
export function broadcastSync(tensor: TypedArray, options: BroadcastOptions & GroupOption = {}): void {
  groupOf(options).broadcastSync(tensor, options);
}

/** Resolves when every rank has called it. */
export async function barrier(options: CollectiveOptions & GroupOption = {}): Promise<void> {
  await groupOf(options).barrier(options);
}

/** `barrier` on the calling thread, which is blocked meanwhile. */
export function barrierSync(options: CollectiveOptions & GroupOption = {}): void {
  groupOf(options).barrierSync(options);
}

function groupOf({ group }: GroupOption): ProcessGroup {
  return group ?? defaultGroup();
}

/** The event loop is empty: nobody will call destroyProcessGroup any more. */
function leaveAtExit(): void {
  void destroyProcessGroup();
}

/** JavaScript callers can ask for more than the types allow. */
function checkChoices(options: InitProcessGroupOptions): void {
  const { backend, initMethod, store, rank, worldSize, timeoutMs = defaultTimeoutMs } = options;
  const askedBackend: string = backend ?? 'gloo';
  if (askedBackend !== 'gloo') {
    const nccl =
      askedBackend === 'nccl'
        ? 'The nccl backend does not exist yet'
        : `There is no backend "${askedBackend}"`;
    throw new InvalidArgumentError(`${nccl}: expected 'gloo', which runs on every machine.`);
  }
  const askedMethod: string = initMethod ?? 'env://';
  if (askedMethod !== 'env://') {
    throw new InvalidArgumentError(
      `initMethod is "${askedMethod}", expected 'env://': set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the environment.`,
    );
  }
  if (!(timeoutMs > 0)) {
    throw new InvalidArgumentError(`timeoutMs is ${timeoutMs}, expected a number of milliseconds above 0.`);
  }
  if (store && (rank === undefined || worldSize === undefined)) {
    throw new InvalidArgumentError(
      'initProcessGroup was given a store, so expected rank and worldSize beside it.',
    );
  }
}

function notInitialized(what: string): RingrunError {
  const problem = {
    none: 'there is no process group yet: await initProcessGroup() first',
    starting: 'the process group is still being initialised: await the promise of initProcessGroup() first',
    leaving: 'the process group is being destroyed: use it before destroyProcessGroup()',
    destroyed:
      'the process group was destroyed: use it before, or await initProcessGroup() again on every rank',
    ready: 'the process group is ready',
  }[state.phase];
  return new RingrunError('ERR_NOT_INITIALIZED', `${what} was asked for, but ${problem}.`);
}
