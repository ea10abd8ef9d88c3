/** Characters. A longer line is printed in pieces, each with the prefix. */
const longestLine = 64 * 1024;

/**
 * Puts a prefix before each line of a stream. A line equal to the previous one is counted instead of printed until
 * another line arrives or `pause` is called: warnings in a loop would hide everything else.
 *
 * Decodes as latin1, one character per byte, because a chunk may end inside a UTF-8 character.
 */
export class PrefixedLines {
  readonly #prefix: string;
  /** The part of the last line that has arrived. */
  #begun = '';
  #shown: string | undefined;
  #repeats = 0;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix).toString('latin1');
  }

  /** Returns the lines that `bytes` complete. */
  push(bytes: Uint8Array): Buffer {
    const lines = (
      this.#begun + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    ).split('\n');
    this.#begun = lines.pop()!;
    let text = '';
    for (const line of lines) text += this.#show(line);
    if (this.#begun.length >= longestLine) {
      text += `${this.#describeRepeats()}${this.#prefix}${this.#begun}\n`;
      this.#begun = '';
      this.#shown = undefined;
    }
    return Buffer.from(text, 'latin1');
  }

  /** Call when no output arrives for a while. Returns the count of repeated lines, if any. */
  pause(): Buffer {
    return Buffer.from(this.#describeRepeats(), 'latin1');
  }

  /** Call at the end of the stream. Returns the count of repeated lines, and a last line without a line break. */
  end(): Buffer {
    const last = this.#begun === '' ? '' : this.#show(this.#begun);
    this.#begun = '';
    return Buffer.from(last + this.#describeRepeats(), 'latin1');
  }

  #show(line: string): string {
    if (line === this.#shown && line !== '') {
      this.#repeats += 1;
      return '';
    }
    const before = this.#describeRepeats();
    this.#shown = line;
    return `${before}${this.#prefix}${line}\n`;
  }

  /** A single repeat is printed as it is: a count would not be shorter. */
  #describeRepeats(): string {
    const repeats = this.#repeats;
    this.#repeats = 0;
    if (repeats === 0) return '';
    return `${this.#prefix}${repeats === 1 ? this.#shown : `(repeated ${repeats} more times)`}\n`;
  }
}
