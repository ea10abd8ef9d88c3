import { InvalidArgumentError } from '@ringrun/collectives';

/** What can be kept in a checkpoint (torch.distributed.checkpoint.stateful.Stateful): a model, an optimizer, a scheduler, a loader, or anything of a program's own. */
export interface Stateful {
  /** Plain values, typed arrays, and tensors `{ shape, data }`, in arrays, objects, Maps and Sets; or a promise of it. */
  stateDict(): unknown;
  /** Becomes what `stateDict` gave, or throws and stays as it was. */
  loadStateDict(state: never): unknown;
}

/**
 * Random generators that libraries draw from, by the library's name. A library that is loaded puts its own there, so that no program can forget it:
 * `globalThis[Symbol.for('ringrun.randomStates')]`, a registry, because libraries import only types of ringrun, and may be loaded first. Checkpoints
 * keep them for each rank.
 */
export type RandomStates = Map<string, Stateful>;

const registry = Symbol.for('ringrun.randomStates');

export function randomStates(): RandomStates {
  const global = globalThis as unknown as Record<symbol, RandomStates | undefined>;
  return global[registry] ?? new Map<string, Stateful>();
}

/** `object`, once it is sure that it is stateful. */
export function requireStateful(name: string, object: unknown): Stateful {
  const methods = (object ?? {}) as Record<string, unknown>;
  const missing = ['stateDict', 'loadStateDict'].filter((method) => typeof methods[method] !== 'function');
  if (missing.length === 0) return object as Stateful;
  throw new InvalidArgumentError(
    `Checkpointer.register: ${name} has no ${missing.join(' and no ')}. Register what has both methods; give plain values to save, as \`values\`.`,
  );
}
