import type { WriteStream } from 'node:tty';

const escape = '\x1b[';
/** The alternate screen, which preserves the terminal's previous contents. */
const enter = `${escape}?1049h${escape}?25l`;
const leave = `${escape}?25h${escape}?1049l`;
const home = `${escape}H`;
const clearLine = `${escape}K`;
const clearBelow = `${escape}J`;

/** A terminal that is redrawn in place. */
export class Screen {
  readonly #output: WriteStream;
  readonly #leave = (): void => {
    this.#output.write(leave);
  };

  constructor(output: WriteStream) {
    this.#output = output;
    output.write(enter);
    // Restores the terminal even if an error ends the process.
    process.once('exit', this.#leave);
  }

  get rows(): number {
    return this.#output.rows;
  }

  /** Lines that are too long are cut, as a wrapped line would shift those below. */
  draw(lines: readonly string[]): void {
    const { columns, rows } = this.#output;
    const shown = lines.slice(0, rows).map((line) => `${line.slice(0, columns)}${clearLine}`);
    this.#output.write(`${home}${shown.join('\r\n')}${clearBelow}`);
  }

  close(): void {
    process.removeListener('exit', this.#leave);
    this.#leave();
  }
}
