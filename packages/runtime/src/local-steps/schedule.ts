import type { ElementRange } from '@ringrun/core';

/** What happens to a fragment after a local step. */
export interface FragmentAction {
  /** `send`: its exchange starts. `receive`: its result is applied. */
  readonly kind: 'send' | 'receive';
  readonly fragment: number;
}

export interface ScheduleSettings {
  /** Local steps between two exchanges of a fragment. */
  innerSteps: number;
  /** Steps before the first local one. */
  warmupSteps: number;
  fragments: number;
  /** Local steps between the start of an exchange and the use of its result. */
  overlapSteps: number;
}

/**
 * The actions after a step, counted from 1, in their order. A pure function, so that all ranks agree. Fragments take turns, evenly
 * spaced over `innerSteps`; the last is sent at its multiples after the warm-up.
 */
export function actionsAfter(
  step: number,
  { innerSteps, warmupSteps, fragments, overlapSteps }: ScheduleSettings,
): FragmentAction[] {
  const isSent = (at: number, fragment: number) =>
    at > 0 && (at - Math.round((innerSteps * (fragment + 1)) / fragments)) % innerSteps === 0;
  const all = Array.from({ length: fragments }, (_, fragment) => fragment);
  const of = (kind: FragmentAction['kind'], at: number) =>
    all.filter((fragment) => isSent(at, fragment)).map((fragment) => ({ kind, fragment }));
  const localStep = step - warmupSteps;
  const [sent, received] = [of('send', localStep), of('receive', localStep - overlapSteps)];
  return overlapSteps === 0 ? [...sent, ...received] : [...received, ...sent];
}

/** Divides `length` numbers into fragments whose lengths differ by at most one. */
export function fragmentRanges(length: number, fragments: number): ElementRange[] {
  const at = (fragment: number) => Math.floor((length * fragment) / fragments);
  return Array.from({ length: fragments }, (_, fragment) => ({ begin: at(fragment), end: at(fragment + 1) }));
}
