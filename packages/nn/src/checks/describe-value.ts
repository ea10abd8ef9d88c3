/** Describes a value of the wrong type in error messages. */
export function describeValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return `an object of ${(value as { constructor?: { name?: string } }).constructor?.name ?? 'no class'}`;
}
