import type { RankView } from '../../../job-view.ts';
import type { Status } from '../../../status.ts';
import { percent, rateText, stepText } from './text.ts';

/** A column of the table of ranks. */
export interface Column {
  readonly name: string;
  readonly textOf: (rank: RankView) => string;
  /** Text starts at the left, numbers end at the right. */
  readonly isText?: boolean;
  /** Whether the cell is marked as a problem. */
  readonly isBad?: (rank: RankView) => boolean;
}

export function columnsOf(unit: string): readonly Column[] {
  return [
    { name: 'rank', textOf: ({ rank }) => String(rank) },
    { name: 'host', textOf: ({ host }) => host, isText: true },
    { name: 'state', textOf: stateText, isText: true, isBad: ({ state }) => state === 'silent' },
    { name: 'steps', textOf: ({ steps }) => steps.toLocaleString('en') },
    { name: `${unit}/s`, textOf: ({ rate }) => rateText(rate) },
    { name: 'step', textOf: ({ stepSeconds }) => stepText(stepSeconds) },
    { name: 'waiting', textOf: ({ waiting }) => percent(waiting) },
  ];
}

/** The parts of the last ten seconds; the rest is other work. Their names are classes in the style. */
export function partsOf({ input, compute, waiting }: RankView): { name: string; share: number }[] {
  return [
    { name: 'input', share: input },
    { name: 'compute', share: compute },
    { name: 'waiting', share: waiting },
  ];
}

/** The sentences below the table. */
export function notesOf({ missing, hidden, ranks, progress }: Status): string[] {
  return [
    ...(missing.length > 0 ? [`No figures yet from rank ${missing.join(', ')}.`] : []),
    ...(hidden > 0 ? [`${hidden} ranks that wait longer are not shown; see metrics.`] : []),
    ...(ranks.length > 0 && progress === undefined
      ? ['Loss and rate are shown for scripts that call trainingReport.']
      : []),
  ];
}

function stateText({ state, age }: RankView): string {
  return state === 'silent' ? `silent for ${Math.round(age)} s` : state;
}
