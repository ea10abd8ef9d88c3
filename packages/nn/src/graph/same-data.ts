/**
 * True for equal plain data: lists, records, strings and numbers. NaN equals NaN, 0 differs from -0, and a missing member
 * equals one that is undefined.
 */
export function isSameData(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && isSameList(a, b);
  return isSameRecord(a as Data, b as Data);
}

type Data = Readonly<Record<string, unknown>>;

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (!isSameData(a[i], b[i])) return false;
  return true;
}

function isSameRecord(a: Data, b: Data): boolean {
  for (const name in a) if (!isSameData(a[name], b[name])) return false;
  for (const name in b) if (a[name] === undefined && b[name] !== undefined) return false;
  return true;
}

/** True for two lists of the same elements (`===`), such as shapes. */
export function isSameSequence(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
