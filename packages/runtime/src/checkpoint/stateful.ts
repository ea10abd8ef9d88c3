import { InvalidArgumentError } from '@ringrun/collectives';

/**
 * An object that a checkpoint can contain (torch.distributed.checkpoint.stateful.Stateful): a model, an
 * optimizer, a scheduler, a loader, or an object of the program.
 */
export interface Stateful {
  /**
   * Returns plain values, typed arrays, and tensors `{ shape, data }`, in arrays, objects, Maps and Sets; or
   * a promise of these.
   */
  stateDict(): unknown;
  /** Restores a state returned by `stateDict`, or throws and leaves the object unchanged. */
  loadStateDict(state: never): unknown;
}

/**
 * Random generators of libraries, by library name, in `globalThis[Symbol.for('ringrun.randomStates')]`. A
 * library registers its generator when it is loaded, so programs need not do it. It is a global because
 * libraries import only types of ringrun and may be loaded first. Checkpoints contain them per rank.
 */
export type RandomStates = Map<string, Stateful>;

const registry = Symbol.for('ringrun.randomStates');

export function randomStates(): RandomStates {
  const global = globalThis as unknown as Record<symbol, RandomStates | undefined>;
  return global[registry] ?? new Map<string, Stateful>();
}

/** Returns `object` if it is stateful. */
export function requireStateful(name: string, object: unknown): Stateful {
  const methods = (object ?? {}) as Record<string, unknown>;
  const missing = ['stateDict', 'loadStateDict'].filter((method) => typeof methods[method] !== 'function');
  if (missing.length === 0) return object as Stateful;
  throw new InvalidArgumentError(
    `Checkpointer.register: ${name} has no ${missing.join(' and no ')}. Register an object with both methods, or pass plain values to save() as \`values\`.`,
  );
}
