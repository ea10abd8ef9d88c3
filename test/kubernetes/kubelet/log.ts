import { EventEmitter, once } from 'node:events';
import { appendFileSync } from 'node:fs';
import type { Readable } from 'node:stream';

export interface LogLine {
  time: string;
  text: string;
}

/** The output of one run of a container, kept for `kubectl logs`. */
export class Log {
  readonly lines: LogLine[] = [];
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #file: string;
  #hasEnded = false;

  /** @param file Receives a copy, for the developer. */
  constructor(file: string) {
    this.#file = file;
  }

  /** Records a stream of the container. Resolves at its end. */
  async record(stream: Readable): Promise<void> {
    let rest = '';
    for await (const chunk of stream.setEncoding('utf8')) {
      const lines = (rest + (chunk as string)).split('\n');
      rest = lines.pop()!;
      this.#add(lines);
    }
    if (rest !== '') this.#add([rest]);
  }

  end(): void {
    this.#hasEnded = true;
    this.#events.emit('change');
  }

  /** The lines from index `first` on; with `follow`, also future lines, until the container ends. */
  async *read(first: number, follow: boolean): AsyncGenerator<LogLine> {
    for (let next = first; ;) {
      while (next < this.lines.length) yield this.lines[next++];
      if (!follow || this.#hasEnded) return;
      await once(this.#events, 'change');
    }
  }

  #add(lines: readonly string[]): void {
    if (lines.length === 0) return;
    const time = new Date().toISOString();
    this.lines.push(...lines.map((text) => ({ time, text })));
    appendFileSync(this.#file, lines.map((text) => `${text}\n`).join(''));
    this.#events.emit('change');
  }
}
