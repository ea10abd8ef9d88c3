import { registry } from '@ringrun/core';
import type { ActivityDetails, Lane } from '@ringrun/core';

/** An activity, in milliseconds of one clock. */
export interface Activity {
  readonly lane: Lane;
  readonly name: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly details?: ActivityDetails | undefined;
}

/** Maximum activities per rank; further ones are only counted. Each takes about 100 bytes in the trace. */
const maxActivities = 200_000;

/** Stores activities that start and end during the recording. */
export class Recorder {
  readonly activities: Activity[] = [];
  /** Number of activities beyond the maximum. */
  dropped = 0;
  #since = Infinity;

  get isRecording(): boolean {
    return registry.activityObserver === this.#record;
  }

  /** @param since time of `performance.now()`; activities that started earlier are ignored */
  start(since: number): void {
    this.#since = since;
    registry.activityObserver = this.#record;
  }

  stop(): void {
    if (this.isRecording) registry.activityObserver = undefined;
  }

  readonly #record = (
    lane: Lane,
    name: string,
    startedAt: number,
    endedAt: number,
    details?: ActivityDetails,
  ): void => {
    if (startedAt < this.#since) return;
    if (this.activities.length < maxActivities)
      this.activities.push({ lane, name, startedAt, endedAt, details });
    else this.dropped += 1;
  };
}
