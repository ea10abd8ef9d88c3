/** The byte that ends a line. */
export const newline = 0x0a;

const space = 0x20;

/** Options of {@link startsOfLines}. */
interface LinesOptions {
  /** Skip lines of spaces. Default: false. */
  skipBlank?: boolean;
}

/**
 * The offset of each line, and the end of the last one. With `skipBlank`, blank lines after a line belong to it.
 *
 * Counts lines first, because an array of unknown length would need twice the memory.
 */
export function startsOfLines(
  bytes: Buffer,
  { skipBlank = false }: LinesOptions = {},
): Float64Array<SharedArrayBuffer> {
  let count = 0;
  forEachLine(bytes, skipBlank, () => (count += 1));
  const starts = new Float64Array(new SharedArrayBuffer(8 * (count + 1)));
  let line = 0;
  forEachLine(bytes, skipBlank, (start) => (starts[line++] = start));
  starts[count] = bytes.length;
  return starts;
}

function forEachLine(bytes: Buffer, skipBlank: boolean, visit: (begin: number) => void): void {
  let begin = 0;
  while (begin < bytes.length) {
    const found = bytes.indexOf(newline, begin);
    const end = found < 0 ? bytes.length : found + 1;
    if (!skipBlank || !isBlank(bytes, begin, end)) visit(begin);
    begin = end;
  }
}

/** Whether a line has only spaces, tabs, line ends and the mark of UTF-8. */
export function isBlank(bytes: Buffer, begin: number, end: number): boolean {
  for (let at = begin + markBytes(bytes, begin); at < end; at += 1) if (bytes[at] > space) return false;
  return true;
}

/** Bytes of the mark of UTF-8 at `begin`: 3 or 0. */
export function markBytes(bytes: Uint8Array, begin: number): number {
  return bytes[begin] === 0xef && bytes[begin + 1] === 0xbb && bytes[begin + 2] === 0xbf ? 3 : 0;
}

/** Number of line ends. */
export function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count += 1;
  return count;
}
