/** JSON that distinguishes all numbers: plain JSON writes NaN and both infinities as null, -0 as 0, and rejects bigints. */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`;
    if (typeof part !== 'number') return part;
    if (Object.is(part, -0)) return '-0';
    return Number.isFinite(part) ? part : String(part);
  });
}
