import { InvalidArgumentError } from '@ringrun/collectives';
import { DistributedDataParallel } from '../ddp/index.ts';
import { flatten } from './flat-state.ts';
import type { FlatState } from './flat-state.ts';
import type { Part } from './packed-parts.ts';
import { randomStates, requireStateful } from './stateful.ts';
import type { Stateful } from './stateful.ts';

export interface Registered {
  object: Stateful;
  perRank: boolean;
}

/** The part that holds what a save was given as `values`. */
export const valuesName = 'values';

/** What a checkpoint holds. */
export class Registry {
  readonly #registered = new Map<string, Registered>();

  /** All of them, or, where one is refused, none. */
  add(objects: Readonly<Record<string, unknown>>, perRank: boolean): void {
    const added = Object.entries(objects).map(([name, object]): [string, Registered] => {
      this.#requireFreeName(name);
      const meant: unknown = object instanceof DistributedDataParallel ? object.module : object;
      return [name, { object: requireStateful(name, meant), perRank }];
    });
    for (const [name, registered] of added) this.#registered.set(name, registered);
  }

  /** Everything by name, the random states of libraries that are loaded now among them. */
  all(): Map<string, Registered> {
    const random = Array.from(
      randomStates(),
      ([library, object]) => [`random.${library}`, { object, perRank: true }] as const,
    );
    return new Map([...this.#registered, ...random]);
  }

  /** What a rank has to give: rank 0 its state of everything, the others of what is kept for each rank. Tensors are those of the state dicts. */
  async take(rank: number, values: unknown): Promise<Map<string, Part<FlatState>>> {
    const parts = new Map<string, Part<FlatState>>();
    for (const [name, { object, perRank }] of this.all()) {
      const gives = perRank || rank === 0;
      parts.set(name, { perRank, states: gives ? [flatten(await object.stateDict(), name)] : [] });
    }
    return parts.set(valuesName, {
      perRank: false,
      states: rank === 0 ? [flatten(values, valuesName)] : [],
    });
  }

  #requireFreeName(name: string): void {
    const problem = !/^[A-Za-z][\w-]*$/.test(name)
      ? 'begins with a letter, and has letters, digits, _ and - only'
      : name === valuesName
        ? 'is another one: this is what save keeps its `values` under'
        : this.#registered.has(name)
          ? 'is another one: this is registered already'
          : undefined;
    if (problem === undefined) return;
    throw new InvalidArgumentError(`Checkpointer.register: got the name '${name}'; a name ${problem}.`);
  }
}

/** The states that are kept for each rank. */
export function ownOf(parts: ReadonlyMap<string, Part<FlatState>>): Map<string, FlatState> {
  return new Map(
    [...parts].filter(([, { perRank }]) => perRank).map(([name, { states }]) => [name, states[0]]),
  );
}

/** Rank 0's parts, with every rank's state where each has its own. */
export function together(
  parts: ReadonlyMap<string, Part<FlatState>>,
  owns: readonly ReadonlyMap<string, FlatState>[],
): Map<string, Part<FlatState>> {
  return new Map(
    Array.from(parts, ([name, part]) => [
      name,
      part.perRank ? { perRank: true, states: owns.map((own) => own.get(name)!) } : part,
    ]),
  );
}
