import { expect, test } from 'vitest';
import type { Boundary, Section } from '../../../src/executor/cuda/lowered-program.ts';
import { stagesOf } from '../../../src/executor/cuda/stages.ts';

const part = (index: number): Boundary => ({ kind: 'part', index });
const section = (name: string, boundary?: Boundary, refusals = 0): Section<string> => {
  return { commands: [name], boundary, refusals };
};
const marks = (boundary: Boundary) => [`<${boundary.kind}>`];

/** `a b | c`: stages with their commands; `!` marks a check. */
const divided = (sections: readonly Section<string>[], isOfHost: (boundary: Boundary) => boolean) =>
  stagesOf(sections, isOfHost, marks)
    .map(({ commands, isChecked, boundary }) => {
      const end = `${isChecked ? ' !' : ''}${boundary ? ` ${boundary.kind}` : ''}`;
      return `${commands.join(' ')}${end}`;
    })
    .join(' | ');

const step = [section('forward', part(0)), section('backward', part(1)), section('', { kind: 'update' })];

test('a stage ends where the host makes a call', () => {
  const sections = [...step, section('update')];
  expect(divided(sections, ({ kind }) => kind === 'part')).toBe(
    'forward part | backward part |  <update> update',
  );
  expect(divided(sections, () => false)).toBe('forward <part> backward <part>  <update> update');
});

test('values that may be refused are checked before the next communication and before the update', () => {
  const sections = [
    section('indices', part(0), 1),
    section('backward', { kind: 'update' }, 1),
    section('update', undefined, 1),
  ];
  expect(divided(sections, () => false)).toBe('indices ! | <part> backward <update> update');
  const late = [
    section('forward', part(0)),
    section('loss', { kind: 'update' }, 1),
    section('update', undefined, 1),
  ];
  expect(divided(late, () => false)).toBe('forward <part> loss ! | <update> update');
});
