/** `1.4 GB/s`: bytes, in powers of ten. */
export function formatRate(bytesPerSecond: number): string {
  return `${formatBytes(bytesPerSecond)}/s`;
}

/** `64 kB`, `1.4 GB`: powers of ten, three digits at most. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)));
  return `${Number((bytes / 1000 ** step).toPrecision(3))} ${units[step]}`;
}

/** `0.8 µs`, `1.3 ms`, `2.1 s`. */
export function formatMicroseconds(us: number): string {
  if (us < 1000) return `${Number(us.toPrecision(2))} µs`;
  return us < 1e6 ? `${Number((us / 1000).toPrecision(3))} ms` : `${Number((us / 1e6).toPrecision(3))} s`;
}
