import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const lookEveryMs = 20;

/** The report of one timeout in the launcher's folder, from which all ranks of the node read it. */
export class ReportFile {
  readonly #path: string;

  /** @param id Names the timeout. */
  constructor(folder: string, id: string) {
    this.#path = join(folder, `timeout-${id}.txt`);
  }

  /** True for the first caller on this node, which must write and print the report. */
  claim(): boolean {
    try {
      writeFileSync(`${this.#path}.lock`, '', { flag: 'wx', mode: 0o600 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }

  write(report: string): void {
    writeFileSync(`${this.#path}.tmp`, report, { mode: 0o600 });
    renameSync(`${this.#path}.tmp`, this.#path);
  }

  /** Waits for the report. The caller limits the time. */
  async read(): Promise<string> {
    while (!existsSync(this.#path)) await sleep(lookEveryMs);
    return readFileSync(this.#path, 'utf8');
  }
}
