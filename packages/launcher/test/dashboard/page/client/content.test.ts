import { describe, expect, test } from 'vitest';
import { heading, jobLine, title } from '../../../../src/dashboard/page/client/content/headline.ts';
import { stateOf, unreachable } from '../../../../src/dashboard/page/client/content/job-state.ts';
import {
  doneShare,
  epochText,
  stepOfEpochText,
} from '../../../../src/dashboard/page/client/content/progress.ts';
import { columnsOf, notesOf, partsOf } from '../../../../src/dashboard/page/client/content/ranks.ts';
import {
  hasCurves,
  scalarTexts,
  scalarsNote,
} from '../../../../src/dashboard/page/client/content/scalars.ts';
import { lossText, rateText, stepText } from '../../../../src/dashboard/page/client/content/text.ts';
import { tilesOf } from '../../../../src/dashboard/page/client/content/tiles.ts';
import { figuresOf, figuresWithoutReport } from '../../figures.ts';
import { receivedStatus } from './statuses.ts';

/** Rank 1 waited for 0.5 s of its 10 s, rank 0 for 2 s. */
const slow = figuresOf(1, { recent: { ...figuresOf(1).recent, waiting: 0.5 } });
const { progress } = figuresOf(0);

describe('figures as text', () => {
  test.each([
    [0.5, '0.5000'],
    [0, '0.0000'],
    [0.001, '0.0010'],
    [-0.000_087, '-8.70e-5'],
    [null, 'NaN'],
    [undefined, '–'],
  ])('a loss of %s is %s', (loss, text) => {
    expect(lossText(loss)).toBe(text);
  });

  test('a rate has separators, and a step a unit', () => {
    expect([rateText(12_345.6), rateText(undefined)]).toEqual(['12,346', '–']);
    expect([stepText(0.0087), stepText(1.184), stepText(undefined)]).toEqual(['8.7 ms', '1.18 s', '–']);
  });
});

describe('the headline', () => {
  test('names the job, its ranks and its restarts', () => {
    expect(jobLine(receivedStatus())).toBe('job job, 2 ranks');
    expect(jobLine({ ...receivedStatus(), worldSize: 1, restartCount: 3 })).toBe(
      'job job, 1 rank, restart 3',
    );
    expect(jobLine({ ...receivedStatus(), runId: '' })).toBe('job –, 2 ranks');
  });

  test('has the name of the job as the heading and in the title of the tab', () => {
    const named = receivedStatus([figuresOf(0, { name: 'train.ts' })]);
    expect([heading(named), title(named)]).toEqual(['train.ts', 'train.ts: loss 0.5000']);
    expect(jobLine(named)).toBe('job job, 2 ranks');
    expect(heading(receivedStatus())).toBe('ringrun');
  });

  test('has the loss in the title of the tab, if there is one', () => {
    expect(title(receivedStatus())).toBe('ringrun job: loss 0.5000');
    const diverged = receivedStatus([figuresOf(0, { progress: { ...progress!, loss: NaN } })]);
    expect(diverged.loss).toBeNull();
    expect(title(diverged)).toBe('ringrun job');
  });
});

describe('the state of the job', () => {
  const ended = figuresOf(1, { phase: 'ended' });

  test.each([
    ['training', [figuresOf(0), ended], 1_001_000, 'training', ''],
    ['paused', [figuresOf(0, { phase: 'paused' }), ended], 1_001_000, 'between epochs', ''],
    ['ended', [figuresOf(0, { phase: 'ended' }), ended], 1_001_000, 'training has ended', 'over'],
    ['silent', [figuresOf(0), figuresOf(1)], 1_011_000, 'silent: rank 0, 1', 'bad'],
  ] as const)('%s', (_, ranks, now, text, kind) => {
    expect(stateOf(receivedStatus(ranks, { now }))).toEqual({ text, kind });
  });

  test('starting, before the first figures', () => {
    expect(stateOf({ ...receivedStatus(), ranks: [] })).toEqual({ text: 'starting', kind: '' });
  });

  test('unreachable, with the seconds since the last answer', () => {
    expect(unreachable(12.4)).toEqual({
      text: 'the job has ended or has been unreachable for 12 s',
      kind: 'over',
    });
  });
});

describe('the progress', () => {
  test('is of all epochs if their number is known', () => {
    expect(epochText(progress!)).toBe('epoch 2 of 4');
    expect(stepOfEpochText(progress!)).toBe('step 50 of 100');
    expect(doneShare(progress!)).toBe(0.375);
  });

  test('is of this epoch if their number is not known', () => {
    const endless = { epoch: 2, step: 150, stepOfEpoch: 50, stepsOfEpoch: 100 };
    expect(epochText(endless)).toBe('epoch 2');
    expect(doneShare(endless)).toBe(0.5);
  });

  test('is never above 1, and 0 in an epoch without steps', () => {
    expect(doneShare({ ...progress!, epoch: 9 })).toBe(1);
    expect(doneShare({ ...progress!, epoch: 1, stepOfEpoch: 0, stepsOfEpoch: 0 })).toBe(0);
  });
});

describe('the tiles', () => {
  test('show loss, rate, step and the slowest rank', () => {
    expect(tilesOf(receivedStatus([figuresOf(0), slow]))).toEqual([
      { name: 'Loss', value: '0.5000', remark: 'learning rate 0.1' },
      { name: 'images/s', value: '160', remark: 'all ranks, last 10 s' },
      { name: 'Step', value: '100.0 ms', remark: 'mean of the last 10 s' },
      { name: 'Slowest rank', value: 'rank 1', remark: 'waited 0.5 s, the others 2.0 s' },
    ]);
  });

  test('have a dash for what is not known', () => {
    expect(tilesOf(receivedStatus([figuresWithoutReport(0)])).map(({ value }) => value)).toEqual([
      '–',
      '–',
      '100.0 ms',
      'none',
    ]);
  });

  test('accept a learning rate that is not finite', () => {
    const status = receivedStatus([figuresOf(0, { progress: { ...progress!, learningRate: NaN } })]);
    expect(tilesOf(status)[0].remark).toBe('mean of the ranks');
  });
});

describe('the curves', () => {
  const scalar = { name: 'test/accuracy', step: 3, value: 0.978_123_4, points: [] };

  test('have a caption with the last value', () => {
    expect(scalarTexts(scalar)).toEqual({ name: 'test/accuracy', value: '0.97812' });
    expect(scalarTexts({ ...scalar, value: null }).value).toBe('NaN');
    expect(scalarTexts({ ...scalar, value: 3.2e-12 }).value).toBe('3.2e-12');
  });

  test('are shown if there is a scalar or a loss of two steps', () => {
    expect(hasCurves(receivedStatus())).toBe(false);
    expect(hasCurves(receivedStatus([], { scalars: [scalar] }))).toBe(true);
    const curve = [1, 2].map((step) => ({ step, loss: 1, rate: 1 }));
    expect(hasCurves(receivedStatus([], { curve }))).toBe(true);
  });

  test('have a note about scalars without room', () => {
    expect(scalarsNote(receivedStatus())).toBe('');
    expect(scalarsNote(receivedStatus([], { scalars: [scalar], hiddenScalars: 6 }))).toBe(
      '6 more scalars are not shown: the page has room for 1. See metrics.',
    );
  });
});

describe('the table of ranks', () => {
  test('has a cell for each column, and marks a silent rank', () => {
    const columns = columnsOf('images');
    const [rank] = receivedStatus([figuresOf(0)], { now: 1_011_500 }).ranks;
    expect(columns.map(({ name, textOf }) => [name, textOf(rank)])).toEqual([
      ['rank', '0'],
      ['host', 'host0'],
      ['state', 'silent for 12 s'],
      ['steps', '100'],
      ['images/s', '80'],
      ['step', '100.0 ms'],
      ['waiting', '20%'],
    ]);
    expect(columns.filter(({ isBad }) => isBad?.(rank)).map(({ name }) => name)).toEqual(['state']);
    expect(columns.filter(({ isText }) => isText).map(({ name }) => name)).toEqual(['host', 'state']);
  });

  test('has a bar of input, compute and waiting', () => {
    const [rank] = receivedStatus([figuresOf(0)]).ranks;
    expect(partsOf(rank)).toEqual([
      { name: 'input', share: 0.1 },
      { name: 'compute', share: 0.6 },
      { name: 'waiting', share: 0.2 },
    ]);
  });

  test('has notes about ranks that are missing or hidden, and about scripts without a report', () => {
    expect(notesOf(receivedStatus())).toEqual([]);
    expect(notesOf({ ...receivedStatus([figuresWithoutReport(0)]), hidden: 3 })).toEqual([
      'No figures yet from rank 1.',
      '3 ranks that wait longer are not shown; see metrics.',
      'Loss and rate are shown for scripts that call trainingReport.',
    ]);
  });
});
