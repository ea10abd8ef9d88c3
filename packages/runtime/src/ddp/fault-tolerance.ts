import { InvalidArgumentError, isSameList, RingrunError } from '@ringrun/core';
import type {
  DistributedBuffer,
  DistributedDataParallelOptions,
  DistributedModule,
  ProcessGroup,
  StartableOperation,
} from '@ringrun/core';
import { flatten } from '../checkpoint/flat-state.ts';
import type { FlatState } from '../checkpoint/flat-state.ts';
import type { ArrayWithShape } from '../checkpoint/safetensors.ts';
import { requireStateful } from '../checkpoint/stateful.ts';
import type { Stateful } from '../checkpoint/stateful.ts';
import { readyState } from '../process-group/state.ts';
import { Recovery } from '../recovery/recovery.ts';
import type { States } from '../recovery/state-transfer.ts';
import type { Replica } from '../recovery/training.ts';
import type { HookStates } from './hooks/hook-states.ts';
import { allEnded } from './all-ended.ts';
import { bytesOf } from './buffers.ts';
import type { Settings } from './options.ts';
import type { AverageRecovery } from './reducer-settings.ts';

/** The session whose ranks train a fault-tolerant model. */
let recovering: object | undefined;

/** What a fault-tolerant training repeats after a rank has died: the averages of gradients, or of local steps. */
export interface Averages {
  /** Copies the data in the memory of the group, which is destroyed next. */
  leaveGroup(): void;
  /** Allocates memory of another group. A collective. */
  enterGroup(group: ProcessGroup): void;
  /** Whether an average consists of collectives that start one after the other. */
  readonly hasCommHook: boolean;
  /** The states of a communication hook. */
  readonly hookStates: HookStates | undefined;
  /** What a process that joins needs beside the parameters. */
  stateDict(): unknown;
  loadStateDict(state: unknown): void;
}

/** Names of ringrun's own states. */
const moduleState = 'module.state';
const trainingState = 'training.state';
const hookState = 'hook.state';

/**
 * Recovery of one model: its steps are transactions, in which the buffers of rank 0 are broadcast too. A new process
 * receives the module and the registered objects between two steps.
 */
export class FaultTolerance implements AverageRecovery, Replica {
  readonly #module: DistributedModule;
  /** The buffers that a step broadcasts: those of the model when it was wrapped, as in torch. */
  readonly #buffers: readonly DistributedBuffer[];
  readonly #recovery: Recovery;
  readonly #objects = new Map<string, Stateful>();
  /** States of loaders and samplers at the end of the last step: during a step they count its batch. */
  readonly #positions = new Map<string, unknown>();
  /** In the same order on all ranks. */
  readonly #averages: Averages[] = [];
  #stepRanks: readonly number[] = [];
  #isShared = false;

  /** A collective, except in a process that joins a running job. */
  constructor(
    module: DistributedModule,
    settings: Pick<Settings, 'broadcastBuffers' | 'minRanks'>,
    options: Pick<DistributedDataParallelOptions, 'processGroup' | 'onMembershipChange'>,
    who = 'DistributedDataParallel',
  ) {
    const { session } = readyState(who);
    requireCombination(module, session.group, options, who);
    if (recovering === session) {
      throw refused(
        'expected one model with faultTolerance in a process, got a second one. Put both into one model.',
        who,
      );
    }
    this.#module = module;
    this.#buffers = settings.broadcastBuffers
      ? Array.from(module.namedBuffers(), ([, buffer]) => buffer)
      : [];
    const { minRanks } = settings;
    const { onMembershipChange } = options;
    this.#recovery = Recovery.start(session, this, { minRanks, onMembershipChange });
    recovering = session;
  }

  get group(): ProcessGroup {
    return this.#recovery.group;
  }

  get stepRanks(): readonly number[] {
    return this.#stepRanks;
  }

  /** Adds averages that a death may interrupt. Called before the first step. */
  repeats(averages: Averages): void {
    this.#averages.push(averages);
  }

  mayStartEarly(): boolean {
    return this.#recovery.isAdmitted && !this.#recovery.changesNext;
  }

  prepareCommit(): StartableOperation | undefined {
    // Their broadcast is issued before the commit.
    if (this.#buffers.length > 0) return undefined;
    return this.#recovery.prepareCommit();
  }

  /** @throws RingrunError `ERR_FAULT_TOLERANCE` in a process that joins, before `shareState` */
  requireAdmitted(who: string): void {
    if (this.#recovery.isAdmitted) return;
    throw new RingrunError(
      'ERR_FAULT_TOLERANCE',
      `${who}: this process joins a running job and has not received its state. Await shareState({ optimizer, … }) of the wrapped model before training.`,
    );
  }

  /** Averages the gradients of a step, and broadcasts the buffers of rank 0, on all ranks or on none. */
  async run(average: () => Promise<void>, startedCommit?: StartableOperation): Promise<void> {
    this.requireAdmitted('loss.backward()');
    let ranks = this.#stepRanks;
    const issuesAtOnce = !this.#averages.some(({ hasCommHook }) => hasCommHook);
    const received = await this.#recovery.run({
      isStep: true,
      issuesAtOnce,
      startedCommit,
      attempt: async (group) => {
        ranks = this.#recovery.startRanks;
        const averaged = average();
        // The collectives of a hook start one after the other, and have the same order on all ranks.
        if (!issuesAtOnce) await averaged;
        const buffers = this.#broadcastBuffers(group);
        await allEnded([averaged, buffers]);
        return await buffers;
      },
    });
    this.#unpackBuffers(received);
    this.#stepRanks = ranks;
    this.recordPositions();
  }

  /** Runs collectives of the program until all ranks have their result. */
  async retry<Result>(run: (group: ProcessGroup) => Promise<Result>): Promise<Result> {
    return await this.#recovery.run({ isStep: false, issuesAtOnce: false, attempt: run });
  }

  /** @throws RingrunError `ERR_FAULT_TOLERANCE` if `shareState` has been called, which gives the hook its state */
  requireMayRegisterHook(): void {
    if (this.#isShared)
      throw refused(
        'expected registerCommHook before shareState, got it after. Call it right after wrapping.',
      );
  }

  /** Resolves with true if this process has joined a running job. */
  async shareState(objects: Readonly<Record<string, unknown>>): Promise<boolean> {
    if (this.#isShared)
      throw refused('expected one call of shareState, got a second one. Pass all objects at once.');
    const checked = Object.entries(objects).map(([name, object]) => {
      if (!/^[A-Za-z]\w*$/.test(name)) {
        throw new InvalidArgumentError(
          `shareState: expected names of letters, digits and _ that begin with a letter, got '${name}'.`,
        );
      }
      return [name, requireStateful(name, object)] as const;
    });
    this.#isShared = true;
    for (const [name, object] of checked) this.#objects.set(name, object);
    if (this.#recovery.isAdmitted) {
      this.recordPositions();
      return false;
    }
    await this.#recovery.join();
    return true;
  }

  leaveGroup(): void {
    for (const averages of this.#averages) averages.leaveGroup();
  }

  enterGroup(group: ProcessGroup): void {
    for (const averages of this.#averages) averages.enterGroup(group);
  }

  async saveState(): Promise<States> {
    const states = new Map<string, FlatState>();
    states.set(moduleState, flatten(Object.fromEntries(this.#tensors()), moduleState));
    const ofAverages = this.#averages.map((averages) => averages.stateDict());
    states.set(trainingState, flatten(ofAverages, trainingState));
    const hookStates = this.#hookStates;
    // The step that a death has interrupted is repeated with the new process.
    await hookStates?.undoStep();
    if (hookStates?.shared !== undefined) states.set(hookState, hookStates.shared);
    for (const [name, object] of this.#objects) {
      const state: unknown = this.#positions.has(name) ? this.#positions.get(name) : object.stateDict();
      states.set(name, flatten(await state, name));
    }
    return states;
  }

  async loadState(states: ReadonlyMap<string, unknown>): Promise<void> {
    const own = [moduleState, trainingState, hookState];
    const names = [...states.keys()].filter((name) => !own.includes(name));
    if (!isSameList(names.toSorted(), [...this.#objects.keys()].toSorted())) {
      throw new InvalidArgumentError(
        `shareState: expected the objects of the running job (${names.join(', ') || 'none'}), got ${[...this.#objects.keys()].join(', ') || 'none'}. Pass the same objects on every rank.`,
      );
    }
    const hookStates = this.#hookStates;
    if (states.has(hookState) !== (hookStates?.shared !== undefined)) {
      throw new InvalidArgumentError(
        `shareState: expected the communication hook of the running job, ${states.has(hookState) ? 'which has a state' : 'which has no state'}, got another one. Register the same hook on every rank before shareState.`,
      );
    }
    this.#loadTensors(states.get(moduleState) as Record<string, ArrayWithShape>);
    if (states.has(hookState)) await hookStates!.loadShared(states.get(hookState));
    const ofAverages = states.get(trainingState) as readonly unknown[];
    for (const [index, averages] of this.#averages.entries()) averages.loadStateDict(ofAverages[index]);
    for (const [name, object] of this.#objects) await object.loadStateDict(states.get(name) as never);
    this.recordPositions();
  }

  get #hookStates(): HookStates | undefined {
    return this.#averages.find(({ hookStates }) => hookStates !== undefined)?.hookStates;
  }

  #tensors(): [name: string, tensor: DistributedBuffer][] {
    return [...this.#module.namedParameters(), ...this.#module.namedBuffers()].map(
      ([name, { shape, data }]) => [name, { shape, data }],
    );
  }

  #loadTensors(loaded: Readonly<Record<string, ArrayWithShape>>): void {
    const own = this.#tensors();
    const shapes = (tensors: readonly (readonly [string, Pick<ArrayWithShape, 'shape'>])[]) =>
      tensors.map(([name, { shape }]) => `${name} [${shape.join(', ')}]`);
    const [expected, got] = [shapes(Object.entries(loaded)), shapes(own)];
    const different = expected.findIndex((one, i) => one !== got[i]);
    if (different >= 0 || expected.length !== got.length) {
      const at = different >= 0 ? different : expected.length;
      throw new InvalidArgumentError(
        `shareState: expected the model of the running job (${expected.at(at) ?? 'no further tensor'}), got ${got.at(at) ?? 'no further tensor'}. Build the same model on every rank.`,
      );
    }
    for (const [name, tensor] of own) {
      const { data } = loaded[name] as DistributedBuffer;
      bytesOf(tensor).set(bytesOf({ shape: [], data }));
    }
  }

  /** Keeps the positions of loaders and samplers, at the end of a step. */
  recordPositions(): void {
    for (const [name, object] of this.#objects) {
      if (Symbol.iterator in object || Symbol.asyncIterator in object) {
        this.#positions.set(name, object.stateDict());
      }
    }
  }

  /** Resolves with the packed buffers of rank 0; undefined on rank 0. */
  async #broadcastBuffers(group: ProcessGroup): Promise<Uint8Array | undefined> {
    if (this.#buffers.length === 0 || group.size === 1) return undefined;
    const packed = Buffer.concat(this.#buffers.map(bytesOf));
    await group.broadcast(packed, { src: 0 });
    return group.rank === 0 ? undefined : packed;
  }

  #unpackBuffers(packed: Uint8Array | undefined): void {
    if (packed === undefined) return;
    let offset = 0;
    for (const bytes of this.#buffers.map(bytesOf)) {
      bytes.set(packed.subarray(offset, offset + bytes.length));
      offset += bytes.length;
    }
  }
}

function requireCombination(
  module: DistributedModule,
  group: ProcessGroup,
  { processGroup }: Pick<DistributedDataParallelOptions, 'processGroup'>,
  who: string,
): void {
  const refuse = (problem: string) => refused(problem, who);
  if (processGroup !== undefined && processGroup !== group) {
    throw refuse('expected the default group, got the option processGroup with another one. Leave it out.');
  }
  if (group.backend !== 'gloo') {
    throw refuse(
      `expected a group of the backend 'gloo', got '${group.backend}'. Use restarts with checkpoints instead.`,
    );
  }
  if (module.synchronous === true) {
    throw refuse(
      'expected a model whose library awaits promises, got one of TensorFlow.js. Use restarts with checkpoints instead.',
    );
  }
  const collective = [...(module.namedCollectives?.() ?? [])].at(0);
  if (collective !== undefined) {
    throw refuse(
      `expected a model without collectives in forward, got ${collective === '' ? 'one' : collective} (SyncBatchNorm), whose result depends on a rank that may die. Use BatchNorm.`,
    );
  }
}

/** @param problem the expected and the actual value, and the fix */
export function refused(problem: string, who = 'DistributedDataParallel'): RingrunError {
  return new RingrunError('ERR_FAULT_TOLERANCE', `${who} with faultTolerance: 'shrink': ${problem}`);
}
