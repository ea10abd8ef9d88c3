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

  /**
   * @param events the last events of the job, the oldest first
   * @param own name of this node, if it has joined before it reads the first events
   */
  print(events: readonly JobEvent[], own?: string): void {
    const first = this.#printed ? overlap(this.#printed, events) : firstOf(events, own);
    for (const event of events.slice(first)) this.#log(describeEvent(event));
    this.#printed = events;
  }
}

function firstOf(events: readonly JobEvent[], own: string | undefined): number {
  const first = events.findIndex(({ what }) => own !== undefined && what.startsWith(`${own} `));
  return first < 0 ? events.length : first;
}

/**
 * The number of events of `later` that are at the end of `earlier`. Not their times: two equal events may have the same
 * one, if the clock of a node stands still or was set back.
 */
function overlap(earlier: readonly JobEvent[], later: readonly JobEvent[]): number {
  const dropped = earlier.findIndex((_, from) =>
    earlier.slice(from).every(({ at, what }, i) => later[i]?.at === at && later[i].what === what),
  );
  return dropped < 0 ? 0 : earlier.length - dropped;
}

/** Returns `ringrun: 06:12:03 node host1 (pid 17) joins`. In UTC, as hosts may have different time zones. */
export function describeEvent({ at, what }: JobEvent): string {
  return `ringrun: ${new Date(at).toISOString().slice(11, 19)} ${printable(what)}`;
}
