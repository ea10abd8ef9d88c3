import { nearest } from '@ringrun/core';

/** Returns ` Did you mean …?`, or an empty string if no candidate is similar. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const found = nearest(word, candidates);
  return found === undefined ? '' : ` Did you mean ${found}?`;
}
