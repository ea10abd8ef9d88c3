import type {
  ActivityObserver,
  DefaultGroupRegistry,
  DistributedDataParallelRegistry,
  ProcessGroup,
} from 'ringrun';
import { TfjsError } from './errors.ts';

// ringrun fills these registries where it is loaded; this package imports only its types.
interface Registries {
  group: DefaultGroupRegistry;
  distributedDataParallel: DistributedDataParallelRegistry;
  observer: ActivityObserver;
}

const names = {
  group: Symbol.for('ringrun.defaultGroup'),
  distributedDataParallel: Symbol.for('ringrun.distributedDataParallel'),
  observer: Symbol.for('ringrun.activityObserver'),
} as const satisfies Record<keyof Registries, symbol>;

function found<Name extends keyof Registries>(name: Name): Registries[Name] | undefined {
  return (globalThis as unknown as Record<symbol, Registries[Name] | undefined>)[names[name]];
}

/** The group of all ranks; undefined while this process is in none. */
export function groupNow(): ProcessGroup | undefined {
  return found('group')?.group;
}

/** @throws TfjsError `ERR_NOT_INITIALIZED` outside of a group. `who` begins the message. */
export function requireGroup(who: string, given?: ProcessGroup): ProcessGroup {
  const group = given ?? groupNow();
  if (group !== undefined) return group;
  throw new TfjsError(
    'ERR_NOT_INITIALIZED',
    `${who} was called outside of a process group: import ringrun, \`await initProcessGroup()\` first, and call it before destroyProcessGroup(). ` +
      'Without a launcher it makes a group of one.',
  );
}

export function requireDistributedDataParallel(): DistributedDataParallelRegistry {
  const wrapper = found('distributedDataParallel');
  if (wrapper !== undefined) return wrapper;
  throw new TfjsError('ERR_NOT_INITIALIZED', 'ringrun is not loaded: import it before training.');
}

/** Runs something that computes, and tells whoever measures how long it took. */
export function observed<Result>(name: string, run: () => Result): Result {
  const tell = found('observer');
  const startedAt = performance.now();
  const result = run();
  tell?.('compute', name, startedAt, performance.now());
  return result;
}
