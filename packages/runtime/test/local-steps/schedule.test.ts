import { expect, test } from 'vitest';
import { actionsAfter, fragmentRanges, type ScheduleSettings } from '../../src/local-steps/schedule.ts';

type Settings = Omit<ScheduleSettings, 'warmupSteps'> & { warmupSteps?: number };

function timelineOf({ warmupSteps = 0, ...settings }: Settings, steps: number): string[] {
  return Array.from({ length: steps }, (_, i) => i + 1).flatMap((step) =>
    actionsAfter(step, { ...settings, warmupSteps }).map(
      ({ kind, fragment }) => `${step}: ${kind} ${fragment}`,
    ),
  );
}

test('all parameters are exchanged after each round', () => {
  expect(timelineOf({ innerSteps: 4, fragments: 1, overlapSteps: 0 }, 9)).toEqual([
    '4: send 0',
    '4: receive 0',
    '8: send 0',
    '8: receive 0',
  ]);
});

test('fragments take turns, and each is received before it is sent again', () => {
  expect(timelineOf({ innerSteps: 6, fragments: 3, overlapSteps: 5 }, 13)).toEqual([
    '2: send 0',
    '4: send 1',
    '6: send 2',
    '7: receive 0',
    '8: send 0',
    '9: receive 1',
    '10: send 1',
    '11: receive 2',
    '12: send 2',
    '13: receive 0',
  ]);
});

test('the first round follows the warm-up', () => {
  const settings = { innerSteps: 4, fragments: 2, overlapSteps: 1 };
  const later = timelineOf(settings, 11).map((line) =>
    line.replace(/^\d+/, (step) => String(Number(step) + 5)),
  );
  expect(later.at(0)).toBe('7: send 0');
  expect(timelineOf({ ...settings, warmupSteps: 5 }, 16)).toEqual(later);
});

test('as many fragments as steps, and lengths that do not divide', () => {
  const settings = { innerSteps: 7, warmupSteps: 0, fragments: 7, overlapSteps: 0 };
  for (let step = 1; step <= 14; step += 1)
    expect(actionsAfter(step, settings)).toEqual(
      (['send', 'receive'] as const).map((kind) => ({ kind, fragment: (step - 1) % 7 })),
    );
  const uneven = timelineOf({ innerSteps: 5, fragments: 2, overlapSteps: 0 }, 10);
  expect(uneven.filter((line) => line.includes('send'))).toEqual([
    '3: send 0',
    '5: send 1',
    '8: send 0',
    '10: send 1',
  ]);
});

test('ranges cover all numbers once, even fewer numbers than fragments', () => {
  expect(fragmentRanges(10, 3)).toEqual([
    { begin: 0, end: 3 },
    { begin: 3, end: 6 },
    { begin: 6, end: 10 },
  ]);
  expect(fragmentRanges(1, 3).map(({ begin, end }) => end - begin)).toEqual([0, 0, 1]);
});
