import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolderSync } from '@ringrun/core';

/**
 * A text file of lines, on rank 0. A line is in the file when `append` returns, so a process that is killed loses none. The first
 * write throws if the file cannot be written; a later failure prints one line, and the training continues.
 */
export class LinesFile {
  readonly path: string;
  #isOpen = false;
  #hasFailed = false;

  constructor(path: string) {
    this.path = path;
  }

  /** The lines of the file; none if it does not exist. */
  read(): string[] {
    if (!existsSync(this.path)) return [];
    return readFileSync(this.path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  }

  append(line: string): void {
    this.#write(() => {
      appendFileSync(this.path, `${line}\n`);
    });
  }

  /** Replaces all lines, atomically. */
  replace(lines: readonly string[]): void {
    this.#write(() => {
      writeFileSync(`${this.path}.part`, lines.map((line) => `${line}\n`).join(''));
      renameSync(`${this.path}.part`, this.path);
    });
  }

  #write(write: () => void): void {
    if (!this.#isOpen) {
      makeFolderSync(dirname(this.path));
      write();
      this.#isOpen = true;
      return;
    }
    try {
      write();
    } catch (error) {
      if (!this.#hasFailed)
        process.stderr.write(
          `ringrun: ${this.path} cannot be written: ${(error as Error).message}. Results are lost.\n`,
        );
      this.#hasFailed = true;
    }
  }
}
