/** The candidate that `word` is a misspelling of: at most a third of its letters, and three, wrong, missing or too many; undefined where none is. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const most = Math.min(3, Math.floor(word.length / 3));
  const ranked = candidates.map((candidate) => ({ candidate, distance: editDistance(word, candidate) }));
  const close = ranked.filter(({ distance }) => distance <= most);
  return close.sort((a, b) => a.distance - b.distance).at(0)?.candidate;
}

/** ` Did you mean …?`, or nothing. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const found = nearest(word, candidates);
  return found === undefined ? '' : ` Did you mean ${found}?`;
}

/** Levenshtein's, row by row: row[j] is the distance between the letters of `a` so far and the first j of `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = row[j - 1] + Number(letter !== b[j - 1]);
      next.push(Math.min(replaced, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}
