/** Such as `300 ms`, `5 s`, `30 min`, `2:05 min`, `1:02:05 h` and `unlimited time`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return 'unlimited time';
  if (ms > 0 && ms < 1000) return `${Math.round(ms)} ms`;
  const whole = Math.round(ms / 1000);
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (hours > 0) return `${clock(hours, minutes, seconds)} h`;
  return minutes > 0 ? `${clock(minutes, seconds)} min` : `${seconds} s`;
}

/** `2:05`, or `2` if the rest is zero. */
function clock(first: number, ...rest: number[]): string {
  if (rest.every((part) => part === 0)) return String(first);
  return [first, ...rest.map((part) => String(part).padStart(2, '0'))].join(':');
}

/** `rank 3`, or `ranks 0-2 and 7`. */
export function formatRanks(ranks: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const rank of [...ranks].sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run && rank === run[1] + 1) run[1] = rank;
    else runs.push([rank, rank]);
  }
  const names = runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  const list = names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names.join('');
  return `${ranks.length === 1 ? 'rank' : 'ranks'} ${list}`;
}

/** Indents all lines except the first one by two spaces, as in a printed tree. Empty lines stay empty. */
export function indentLines(text: string): string {
  return text.replaceAll(/\n(?=.)/g, '\n  ');
}

/** A wrapper of a module as torch prints it, with the module below it. A module without `toString` is written as `Name()`. */
export function formatWrapper(name: string, module: object): string {
  const hasText = module.toString !== Object.prototype.toString;
  const text = hasText ? (module as { toString(): string }).toString() : `${module.constructor.name}()`;
  return `${name}(\n  (module): ${indentLines(text)}\n)`;
}
