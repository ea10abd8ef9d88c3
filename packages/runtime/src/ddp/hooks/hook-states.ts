import { RingrunError } from '@ringrun/core';
import type { CommHook, Stateful } from '@ringrun/core';
import { flatten, unflatten, type FlatState } from '../../checkpoint/flat-state.ts';
import type { ElementArray } from '../../checkpoint/safetensors.ts';

type StateName = 'state' | 'rankState';

/** The states of a communication hook in a training whose steps may be repeated. */
export class HookStates {
  readonly #states: ReadonlyMap<StateName, Stateful>;
  /** Copies of the states before the current step; undefined between steps. */
  #before: ReadonlyMap<StateName, FlatState> | undefined;
  /** The copies of an earlier step, whose memory the next copies reuse. */
  #spare: ReadonlyMap<StateName, FlatState> | undefined;

  /** @throws RingrunError `ERR_COMM_HOOK` if a state lacks stateDict or loadStateDict */
  constructor(hook: CommHook) {
    const states = (['state', 'rankState'] as const).flatMap((name) => {
      const state = hook[name];
      return state === undefined ? [] : [[name, requireState(name, state)] as const];
    });
    this.#states = new Map(states);
  }

  /** Copies the states at the beginning of a step. */
  beginStep(): void {
    const spare = this.#before ?? this.#spare;
    this.#before = new Map(
      Array.from(this.#states, ([name, state]) => [
        name,
        copyOf(flatten(state.stateDict(), `registerCommHook: ${name}`), spare?.get(name)),
      ]),
    );
    this.#spare = undefined;
  }

  /** Keeps the states as they are now: the step has ended on all ranks. */
  commitStep(): void {
    this.#spare = this.#before;
    this.#before = undefined;
  }

  /** Restores the states before the current step, if one has begun. */
  async undoStep(): Promise<void> {
    const before = this.#before;
    // The hook may keep the arrays that it loads.
    this.#before = undefined;
    for (const [name, { tree, tensors }] of before ?? []) {
      await this.#states.get(name)!.loadStateDict(unflatten(tree, (key) => tensors.get(key)!) as never);
    }
  }

  /** The state that a process which joins receives. Not copied. */
  get shared(): FlatState | undefined {
    const state = this.#states.get('state');
    return state && flatten(state.stateDict(), 'registerCommHook: state');
  }

  /** Loads the `shared` state of another rank. */
  async loadShared(state: unknown): Promise<void> {
    await this.#states.get('state')!.loadStateDict(state as never);
  }
}

function requireState(name: StateName, state: Stateful): Stateful {
  const missing = (['stateDict', 'loadStateDict'] as const).filter(
    (method) => typeof state[method] !== 'function',
  );
  if (missing.length === 0) return state;
  throw new RingrunError(
    'ERR_COMM_HOOK',
    `registerCommHook: expected a hook whose ${name} has the methods stateDict and loadStateDict, got one without ${missing.join(' and ')}. Add the methods, or leave ${name} out.`,
  );
}

/** `spare`: an earlier copy, which is overwritten where it has arrays of the same kind and length. */
function copyOf({ tree, tensors }: FlatState, spare: FlatState | undefined): FlatState {
  const copies = Array.from(tensors, ([key, { shape, data }]) => {
    const memory = spare?.tensors.get(key)?.data;
    return [key, { shape, data: copyOfArray(data, memory) }] as const;
  });
  return { tree, tensors: new Map(copies) };
}

function copyOfArray(data: ElementArray, memory: ElementArray | undefined): ElementArray {
  if (memory?.constructor !== data.constructor || memory.length !== data.length) {
    // `slice` of a Buffer does not copy.
    return Uint8Array.prototype.slice.call(data as Uint8Array);
  }
  (memory as Float32Array).set(data as Float32Array);
  return memory;
}
