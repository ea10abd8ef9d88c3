import { execFileSync } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Mark } from '../fixtures/mark.ts';

/** The marks of all ranks of a job, which they write to the named pipe `<folder>/marks`. */
export class Marks {
  /** In their order. */
  readonly all: Mark[] = [];
  readonly #watchers = new Set<(mark: Mark) => void>();
  readonly #socket: Socket;

  constructor(folder: string, arrived: (mark: Mark) => void) {
    const path = join(folder, 'marks');
    execFileSync('mkfifo', [path]);
    // Opened for writing too, so that the pipe does not end with its last writer.
    this.#socket = new Socket({ fd: openSync(path, constants.O_RDWR | constants.O_NONBLOCK) });
    createInterface({ input: this.#socket }).on('line', (line) => {
      const mark = JSON.parse(line) as Mark;
      this.all.push(mark);
      arrived(mark);
      for (const watch of this.#watchers) watch(mark);
    });
  }

  /** Resolves, at its arrival, with the first later mark that fits. */
  next(fits: (mark: Mark) => boolean): Promise<Mark> {
    return new Promise((resolve) => {
      const watch = (mark: Mark) => {
        if (!fits(mark)) return;
        this.#watchers.delete(watch);
        resolve(mark);
      };
      this.#watchers.add(watch);
    });
  }

  last(pid: number): Mark | undefined {
    return this.all.findLast((mark) => mark.pid === pid);
  }

  close(): void {
    this.#socket.destroy();
  }
}
