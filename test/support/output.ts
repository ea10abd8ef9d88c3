import type { Readable } from 'node:stream';

/** What a process writes. */
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

  /** So far. */
  get texts(): { stdout: string; stderr: string } {
    return { ...this.#texts };
  }

  /** Nothing more will come. */
  end(): void {
    this.#hasEnded = true;
    for (const watch of this.#watchers) watch();
  }

  /** Resolves with the first match in either stream; rejects when the output ends without one. */
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
