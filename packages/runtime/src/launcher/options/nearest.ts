import { nearest } from '@ringrun/collectives/known-options';

/** ` Did you mean …?`, or nothing. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const found = nearest(word, candidates);
  return found === undefined ? '' : ` Did you mean ${found}?`;
}
