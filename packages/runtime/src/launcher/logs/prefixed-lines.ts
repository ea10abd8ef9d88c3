/** A line that is longer is shown in pieces, each with the prefix. */
const longestLine = 64 * 1024;

/**
 * Puts a prefix before each line of a stream that comes in pieces. A line that is the same as the one before it is counted instead of shown, until
 * another comes or `pause` is called: warnings in a loop would hide everything else.
 *
 * Works on bytes, each of which latin1 makes one character: a piece may end inside of a character of UTF-8.
 */
export class PrefixedLines {
  readonly #prefix: string;
  /** Of the last line, what has come so far. */
  #begun = '';
  #shown: string | undefined;
  #repeats = 0;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix).toString('latin1');
  }

  /** What `bytes` complete. */
  push(bytes: Uint8Array): Buffer {
    const lines = (
      this.#begun + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    ).split('\n');
    this.#begun = lines.pop()!;
    let text = '';
    for (const line of lines) text += this.#show(line);
    if (this.#begun.length >= longestLine) {
      text += `${this.#tellRepeats()}${this.#prefix}${this.#begun}\n`;
      this.#begun = '';
      this.#shown = undefined;
    }
    return Buffer.from(text, 'latin1');
  }

  /** Nothing comes for a while: what was only counted. */
  pause(): Buffer {
    return Buffer.from(this.#tellRepeats(), 'latin1');
  }

  /** Nothing comes any more: what was counted, and a line that has no end. */
  end(): Buffer {
    const last = this.#begun === '' ? '' : this.#show(this.#begun);
    this.#begun = '';
    return Buffer.from(last + this.#tellRepeats(), 'latin1');
  }

  #show(line: string): string {
    if (line === this.#shown && line !== '') {
      this.#repeats += 1;
      return '';
    }
    const before = this.#tellRepeats();
    this.#shown = line;
    return `${before}${this.#prefix}${line}\n`;
  }

  /** One that came again is shown again: that takes no more room than to say so. */
  #tellRepeats(): string {
    const repeats = this.#repeats;
    this.#repeats = 0;
    if (repeats === 0) return '';
    return `${this.#prefix}${repeats === 1 ? this.#shown : `(the same line ${repeats} times more)`}\n`;
  }
}
