/** The tokens of a text, or of a pair of texts. */
export type Parts = readonly [text: readonly string[], pair?: readonly string[]];

/**
 * Parts with at most `most` tokens together: removes tokens at the end, one by one, of the longer part (transformers:
 * truncation `longest_first`).
 */
export function truncated([text, pair]: Parts, most: number): Parts {
  if (pair === undefined) return [text.slice(0, Math.max(0, most))];
  let [first, second] = [text.length, pair.length];
  while (first + second > Math.max(0, most)) {
    if (first > second) first -= 1;
    else second -= 1;
  }
  return [text.slice(0, first), pair.slice(0, second)];
}
