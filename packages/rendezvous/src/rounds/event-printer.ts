import { printable } from '@ringrun/core';
import type { JobEvent } from './rendezvous-state.ts';

/** Prints the events of the job, each once, from the time this node joined. */
export class EventPrinter {
  readonly #log: (line: string) => void;
  #printed: readonly JobEvent[] | undefined;

  /** @param log prints a line */
  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /** @param events the last events of the job, the oldest first */
  print(events: readonly JobEvent[]): void {
    const last = (this.#printed ?? events).at(-1);
    const from = events.findLastIndex(({ at, what }) => at === last?.at && what === last.what) + 1;
    for (const event of events.slice(from)) this.#log(describeEvent(event));
    this.#printed = events;
  }
}

/** Returns `ringrun: 06:12:03 node host1 (pid 17) joins`. In UTC, as hosts may have different time zones. */
export function describeEvent({ at, what }: JobEvent): string {
  return `ringrun: ${new Date(at).toISOString().slice(11, 19)} ${printable(what)}`;
}
