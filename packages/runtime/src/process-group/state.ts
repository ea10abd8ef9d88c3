import { RingrunError } from '@ringrun/collectives';
import type { ProcessGroup } from '@ringrun/collectives';
import type { Session } from './session.ts';
import type { Subgroups } from './subgroups.ts';

/** Where this process stands between initProcessGroup and destroyProcessGroup. There is one such state in a process. */
export type State =
  | { phase: 'none' | 'starting' | 'destroyed' }
  | { phase: 'ready'; session: Session; subgroups: Subgroups }
  | { phase: 'leaving'; left: Promise<void> };

let state: State = { phase: 'none' };

export function currentState(): State {
  return state;
}

export function enterState(next: State): void {
  state = next;
  registry.group = next.phase === 'ready' ? next.session.group : undefined;
}

/**
 * Where libraries find the default group, which import only types of ringrun: `globalThis[Symbol.for('ringrun.defaultGroup')]`, once ringrun is loaded. One per
 * process, however many copies of this module it loads.
 */
export interface DefaultGroupRegistry {
  /** Of all ranks; undefined before initProcessGroup has resolved, and from destroyProcessGroup on. */
  group: ProcessGroup | undefined;
}

const registered = Symbol.for('ringrun.defaultGroup');
const registry = ((globalThis as unknown as Record<symbol, DefaultGroupRegistry | undefined>)[registered] ??=
  { group: undefined });

/** @param what was asked for, as the beginning of a sentence. */
export function readyState(what: string): State & { phase: 'ready' } {
  if (state.phase !== 'ready') throw notInitialized(what);
  return state;
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
