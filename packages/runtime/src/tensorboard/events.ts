import { EventEmitter } from 'node:events';

/** Events of writers, by name. */
interface WriterEvents {
  /** A point was added to the curve `tag`. `step` is undefined if the caller passed none. */
  scalar: [tag: string, value: number, step: number | undefined];
}

/** Events of all writers in this process. Listeners run synchronously and must not throw. */
export const writerEvents = new EventEmitter<WriterEvents>();
