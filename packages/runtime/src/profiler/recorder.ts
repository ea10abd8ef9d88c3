import { recordWith, recorder, type ActivityDetails, type Lane } from './activity.ts';

/** Something that has happened, in milliseconds of one clock. */
export interface Activity {
  readonly lane: Lane;
  readonly name: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly details?: ActivityDetails | undefined;
}

/** What a rank records at most; what comes later is counted. One is some 100 bytes of the trace. */
const mostActivities = 200_000;

/** Keeps activities that begin and end while it records. */
export class Recorder {
  readonly activities: Activity[] = [];
  /** Activities for which there was no more room. */
  dropped = 0;
  #since = Infinity;

  get isRecording(): boolean {
    return recorder() === this.#record;
  }

  /** @param since what began before is left out; a time of `performance.now()` */
  start(since: number): void {
    this.#since = since;
    recordWith(this.#record);
  }

  stop(): void {
    if (this.isRecording) recordWith(undefined);
  }

  readonly #record = (
    lane: Lane,
    name: string,
    startedAt: number,
    endedAt: number,
    details?: ActivityDetails,
  ): void => {
    if (startedAt < this.#since) return;
    if (this.activities.length < mostActivities)
      this.activities.push({ lane, name, startedAt, endedAt, details });
    else this.dropped += 1;
  };
}
