import type { Readable } from 'node:stream';

/** The output of a process. */
export class Output {
  readonly #texts = { stdout: '', stderr: '' };
  readonly #watchers = new Set<() => void>();
  #hasEnded = false;

  constructor(streams: { stdout: Readable; stderr: Readable }) {
    for (const name of ['stdout', 'stderr'] as const) {
      streams[name].setEncoding('utf8').on('data', (text: string) => {
        this.#texts[name] += text;
        for (const watch of this.#watchers) watch();
      });
    }
  }

  /** The output so far. */
  get texts(): { stdout: string; stderr: string } {
    return { ...this.#texts };
  }

  /** Marks the end of the output. */
  end(): void {
    this.#hasEnded = true;
    for (const watch of this.#watchers) watch();
  }

  /** Resolves with the first match in either stream; rejects if the output ends without one. */
  sees(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const watch = (): void => {
        const { stdout, stderr } = this.#texts;
        const match = pattern.exec(stdout) ?? pattern.exec(stderr);
        if (match) resolve(match);
        else if (this.#hasEnded) reject(new Error(`ended without ${String(pattern)}:\n${stdout}${stderr}`));
        else return;
        this.#watchers.delete(watch);
      };
      this.#watchers.add(watch);
      watch();
    });
  }
}
