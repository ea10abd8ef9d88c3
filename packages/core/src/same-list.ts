/** True for two lists with the same elements in the same order, compared by `isSame`. Default: `===`. */
export function isSameList<A, B = A>(
  a: readonly A[],
  b: readonly B[],
  isSame: (one: A, other: B) => boolean = isIdentical,
): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (!isSame(a[i], b[i])) return false;
  return true;
}

function isIdentical(one: unknown, other: unknown): boolean {
  return one === other;
}
