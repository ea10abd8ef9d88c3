import type { Status } from '../../../status.ts';

/** The line beside the job's name. `kind` is its class in the style. */
export interface JobState {
  readonly text: string;
  readonly kind: '' | 'bad' | 'over';
}

export function stateOf({ ranks, hasEnded }: Status): JobState {
  const silent = ranks.filter(({ state }) => state === 'silent').map(({ rank }) => rank);
  if (silent.length > 0) return { text: `silent: rank ${silent.join(', ')}`, kind: 'bad' };
  if (hasEnded) return { text: 'training has ended', kind: 'over' };
  if (ranks.length === 0) return { text: 'starting', kind: '' };
  const isBetween = ranks.every(({ state }) => state !== 'training');
  return { text: isBetween ? 'between epochs' : 'training', kind: '' };
}

/** The server does not accept the cookie. */
export const signedOut: JobState = { text: 'signed out: open the URL that ringrun printed', kind: 'bad' };

/** @param seconds Since the last answer. */
export function unreachable(seconds: number): JobState {
  return {
    text: `the job has ended or has been unreachable for ${Math.round(seconds)} s`,
    kind: 'over',
  };
}
