import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobEvent } from '@ringrun/rendezvous/rounds';

/** File with the events of a run, in its folder below the log directory. */
export const eventsFileName = 'events.json';

/** Older events are dropped. */
const maxEvents = 100;

/** The failures and restarts of a job, for the dashboard and for `ringrun top`. */
export class EventLog {
  #events: readonly JobEvent[] = [];

  get events(): readonly JobEvent[] {
    return this.#events;
  }

  /** @param folder The folder of the run; undefined if it has none. */
  add(what: string, folder: string | undefined): void {
    this.replace([...this.#events, { at: Date.now(), what: what.trimEnd() }], folder);
  }

  replace(events: readonly JobEvent[], folder: string | undefined): void {
    this.#events = events.slice(-maxEvents);
    if (folder === undefined) return;
    try {
      writeFileSync(join(folder, eventsFileName), JSON.stringify(this.#events));
    } catch {
      // The console shows the same events. A full disk must not end the job.
    }
  }
}

/** The events in a list that another process has written. */
export function checkEvents(value: unknown): JobEvent[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one: unknown): one is JobEvent => {
    const { at, what } = Object(one) as Record<string, unknown>;
    return typeof at === 'number' && !Number.isNaN(new Date(at).getTime()) && typeof what === 'string';
  });
}
