import { expect, test } from 'vitest';
import type { FailureKind } from '../../src/rounds/failure-kind.ts';
import { firstCause } from '../../src/rounds/first-cause.ts';
import type { RootCause } from '../../src/rounds/rendezvous-state.ts';

function cause(kind: FailureKind): RootCause {
  return { kind, exitCode: 1, headline: kind, text: kind, startUpFingerprint: undefined };
}

test.each<[known: FailureKind, own: FailureKind]>([
  ['own', 'follows'],
  ['own', 'left'],
  ['stopped', 'suspects'],
  ['left', 'follows'],
  ['left', 'suspects'],
  ['suspects', 'outlived'],
  ['outlived', 'follows'],
])('a failure of the kind %s explains one of the kind %s, whichever node reports first', (first, second) => {
  for (const detectedFirst of [true, false]) {
    expect(firstCause(cause(first), cause(second), detectedFirst)?.kind).toBe(first);
    expect(firstCause(cause(second), cause(first), detectedFirst)?.kind).toBe(first);
  }
});

test('of two failures of one kind, the one that ended the round explains the other', () => {
  const [known, own] = [cause('own'), cause('own')];
  expect(firstCause(known, own, true)).toBe(own);
  expect(firstCause(known, own, false)).toBe(known);
});

test('a preemption explains all others', () => {
  const preemption: RootCause = { ...cause('own'), isPreemption: true };
  expect(firstCause(cause('own'), preemption, false)).toBe(preemption);
  expect(firstCause(preemption, cause('own'), true)).toBe(preemption);
});
