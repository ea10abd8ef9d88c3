import type { Status } from '../../status.ts';
import { byId, make } from './dom.ts';

/** The newest event first. */
export function showEvents(events: Status['events']): void {
  byId('events-section').hidden = events.length === 0;
  byId('events').replaceChildren(
    ...events.toReversed().map(({ at, what }) => {
      const item = make('li');
      item.append(make('time', new Date(at).toLocaleTimeString('en-GB')), make('span', what));
      return item;
    }),
  );
}
