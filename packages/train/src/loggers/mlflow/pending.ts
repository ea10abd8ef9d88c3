import type { MlflowMetric } from './client.ts';

/** What is left to send, in order. */
export type Task =
  | { readonly kind: 'metrics'; readonly metrics: readonly MlflowMetric[] }
  | { readonly kind: 'parameter'; readonly key: string; readonly value: string };

/** Metrics of a request: the server's limit. */
const mostMetrics = 1000;

/** Values that wait for a server that is down. Later ones are dropped. */
const mostWaiting = 100_000;

/** Parameters and metrics that are not sent yet, in bounded memory. */
export class Pending {
  readonly #parameters: [key: string, value: string][] = [];
  readonly #metrics: MlflowMetric[] = [];
  /** Values that had no room. */
  dropped = 0;

  get isEmpty(): boolean {
    return this.size === 0;
  }

  get size(): number {
    return this.#parameters.length + this.#metrics.length;
  }

  addParameter(key: string, value: string): void {
    this.#parameters.push([key, value]);
  }

  addMetrics(metrics: readonly MlflowMetric[]): void {
    const room = Math.max(0, mostWaiting - this.#metrics.length);
    this.#metrics.push(...metrics.slice(0, room));
    this.dropped += Math.max(0, metrics.length - room);
  }

  /** The next request; undefined if nothing is left. It stays until `remove`. */
  get next(): Task | undefined {
    if (this.#parameters.length > 0) {
      const [key, value] = this.#parameters[0];
      return { kind: 'parameter', key, value };
    }
    if (this.#metrics.length === 0) return undefined;
    return { kind: 'metrics', metrics: this.#metrics.slice(0, mostMetrics) };
  }

  remove(task: Task): void {
    if (task.kind === 'parameter') this.#parameters.shift();
    else this.#metrics.splice(0, task.metrics.length);
  }
}

/** Milliseconds before the next attempt after `failures` failed ones: 1, 2, 4 … 30 s. */
export function retryDelay(failures: number): number {
  return Math.min(30_000, 1000 * 2 ** (failures - 1));
}
