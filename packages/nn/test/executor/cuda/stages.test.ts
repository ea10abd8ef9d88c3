import { expect, test } from 'vitest';
import type { Boundary, Section } from '../../../src/executor/cuda/lowered-program.ts';
import { byHost, byProgram, stagesOf, type BoundaryRules } from '../../../src/executor/cuda/stages.ts';

const part = (index: number): Boundary => ({ kind: 'part', index });
const section = (name: string, boundary?: Boundary, refusals = 0): Section<string> => {
  return { commands: [name], boundary, refusals };
};
const marks = (boundary: Boundary) => [`<${boundary.kind}>`];

/** `a b | c`: stages with their commands; `!` marks a check. */
const divided = (sections: readonly Section<string>[], rules: BoundaryRules<string>) =>
  stagesOf(sections, rules)
    .map(({ commands, isChecked, boundary }) => {
      const end = `${isChecked ? ' !' : ''}${boundary ? ` ${boundary.kind}` : ''}`;
      return `${commands.join(' ')}${end}`;
    })
    .join(' | ');

const step = [section('forward', part(0)), section('backward', part(1)), section('', { kind: 'update' })];

const ofProgram = (sections: readonly Section<string>[]) => divided(sections, byProgram(sections, marks));

test('a stage ends where the host makes a call', () => {
  const sections = [...step, section('update')];
  expect(divided(sections, byHost)).toBe('forward part | backward part |  update');
  expect(ofProgram(sections)).toBe('forward <part> backward <part>  <update> update');
});

test('values that may be refused are checked before the next communication, and not before the update, which is guarded', () => {
  const sections = [
    section('indices', part(0), 1),
    section('backward', { kind: 'update' }, 1),
    section('update', undefined, 1),
  ];
  expect(ofProgram(sections)).toBe('indices ! | <part> backward <update> update');
  expect(divided(sections, byHost)).toBe('indices ! part | backward update');
  const late = [
    section('forward', part(0)),
    section('loss', { kind: 'update' }, 1),
    section('update', undefined, 1),
  ];
  expect(ofProgram(late)).toBe('forward <part> loss <update> update !');
});

test('a program that communicates by itself has all calls in one stage', () => {
  const sum: Boundary = {
    kind: 'collective',
    name: 'allReduce',
    send: { slot: 0 },
    receive: { slot: 0 },
    length: 1,
  };
  const sections = [
    section('forward', sum),
    section('statistics', { ...sum }, 1),
    section('loss', part(0), 2),
    section('', { kind: 'update' }, 2),
    section('update', undefined, 2),
  ];
  expect(ofProgram(sections)).toBe(
    'forward <collective> statistics <collective> loss <part>  <update> update !',
  );
  expect(divided(sections, byHost)).toBe(
    'forward collective | statistics ! collective | loss ! part |  update',
  );
});
