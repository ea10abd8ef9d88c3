import { registry, RingrunError } from '@ringrun/core';
import type { Session } from './session.ts';
import type { Subgroups } from './subgroups.ts';

/** State of the process group. One per process. */
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
  registry.defaultGroup = next.phase === 'ready' ? next.session.group : undefined;
  registry.isRank = next.phase !== 'none' && next.phase !== 'destroyed';
  if (next.phase === 'ready') registry.groupFailure = undefined;
}

/**
 * @param what The caller that needs the process group, as the subject of the error's first sentence, such as
 * `newGroup`.
 */
export function readyState(what: string): State & { phase: 'ready' } {
  if (state.phase !== 'ready') throw notInitialized(what);
  return state;
}

function notInitialized(what: string): RingrunError {
  const problem = {
    none: 'the process group is not initialized. Await initProcessGroup() first',
    starting: 'the process group is still being initialized. Await the promise of initProcessGroup() first',
    leaving: 'the process group is being destroyed. Use it before destroyProcessGroup()',
    destroyed:
      'the process group was destroyed. Use it before destroyProcessGroup(), or await initProcessGroup() again on every rank',
    ready: 'the process group is ready',
  }[state.phase];
  return new RingrunError('ERR_NOT_INITIALIZED', `${what} failed: ${problem}.`);
}
