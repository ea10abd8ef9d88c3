import { expect, test } from 'vitest';
import { judgeLoss } from '../../src/job/loss.ts';
import type { LossFacts, LossKind, LossOfJob } from '../../src/job/loss.ts';

const training: LossOfJob = { phase: 'training', isOutside: false, othersRemain: true };
const ending: LossOfJob = { ...training, phase: 'ending' };
const alone = { othersRemain: false };
const outside = { isOutside: true };
const base: LossFacts = { job: training, hasFinished: false, isOwnError: false, mayReplace: true };

const cases: [title: string, facts: Partial<LossFacts>, kind: LossKind][] = [
  ['before the job has begun', { job: undefined }, 'fatal'],
  ['in training', {}, 'replaced'],
  ['in training, by its own error', { isOwnError: true }, 'replaced'],
  ['in training, without restarts left', { mayReplace: false }, 'outlived'],
  ['in training, a replacement that has not joined', { job: { ...training, ...outside } }, 'replaced'],
  ['in training, the last rank', { job: { ...training, ...alone } }, 'fatal'],
  [
    'the last rank, after another one finished',
    { job: { ...training, ...alone }, hasFinished: true },
    'outlived',
  ],
  ['while results are written', { job: ending }, 'outlived'],
  ['while results are written, by its own error', { job: ending, isOwnError: true }, 'late'],
  ['while results are written, a replacement', { job: { ...ending, ...outside } }, 'unneeded'],
  ['a replacement that fails too late', { job: { ...ending, ...outside }, isOwnError: true }, 'unneeded'],
  ['the only rank, while it writes its result', { job: { ...ending, ...alone } }, 'fatal'],
  ['the last rank, after another result', { job: { ...ending, ...alone }, hasFinished: true }, 'outlived'],
];

test.each(cases)('a death %s', (_, facts, kind) => {
  expect(judgeLoss({ ...base, ...facts })).toBe(kind);
});
