/** Prints one line to stderr. */
export function log(line: string): void {
  process.stderr.write(`ringrun: ${line}\n`);
}
