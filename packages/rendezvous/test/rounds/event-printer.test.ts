import { expect, test } from 'vitest';
import { EventPrinter } from '../../src/rounds/event-printer.ts';

const event = (at: number, what: string) => ({ at, what });

test('each event is printed once, even if the clock stands still or is set back', () => {
  const lines: string[] = [];
  const printer = new EventPrinter((line) => lines.push(line.slice('ringrun: 00:00:00 '.length)));
  printer.print([event(0, 'earlier')]);
  printer.print([event(0, 'earlier'), event(9000, 'a')]);
  printer.print([event(0, 'earlier'), event(9000, 'a'), event(9000, 'a')]);
  // The oldest events are dropped.
  printer.print([event(9000, 'a'), event(9000, 'a'), event(0, 'b')]);
  printer.print([event(9000, 'a'), event(0, 'b'), event(9000, 'a')]);
  // Events of a new store.
  printer.print([event(0, 'c')]);
  expect(lines).toEqual(['a', 'a', 'b', 'a', 'c']);
});
