import { formatDuration } from '@ringrun/core';
import { formatLoss, formatScalar, formatSize, formatStep } from './format.ts';
import type { RankView } from './job-view.ts';
import type { Status } from './status.ts';

const maxEvents = 5;
const maxScalarsShown = 4;

/** The lines of `ringrun top`. `rows`: lines of the terminal. */
export function tableOf(status: Status, rows = Infinity): string[] {
  const head = headOf(status);
  const foot = footOf(status);
  const table = aligned([
    ['rank', 'host', 'state', 'steps', `${status.unit}/s`, 'step', 'input', 'compute', 'waiting'],
    ...status.ranks.map(rowOf),
  ]);
  const room = Math.max(2, rows - head.length - foot.length - 3);
  const shown = table.slice(0, room);
  const left = table.length - shown.length + status.hidden;
  const more = left > 0 ? [`… ${left} more ranks`] : [];
  return [...head, '', ...shown, ...more, ...(foot.length > 0 ? ['', ...foot] : [])];
}

function headOf(status: Status): string[] {
  const { runId, name, progress, loss, rate, unit, stepSeconds, hasEnded } = status;
  const figures = [
    ...(progress
      ? [`epoch ${progress.epoch}${progress.epochs === undefined ? '' : `/${progress.epochs}`}`]
      : []),
    ...(progress ? [`step ${progress.stepOfEpoch}/${progress.stepsOfEpoch}`] : []),
    ...(loss === undefined ? [] : [`loss ${formatLoss(loss, 3)}`]),
    ...(rate === undefined ? [] : [`${rate.toFixed(0)} ${unit}/s`]),
    ...(stepSeconds === undefined ? [] : [`step ${formatStep(stepSeconds)}`]),
  ];
  return [
    `ringrun: job ${runId}${name === undefined ? '' : ` (${name})`}: ${formatSize(status)}${hasEnded ? ', ended' : ''}`,
    ...(figures.length > 0 ? [figures.join('   ')] : []),
    ...scalarLines(status),
  ];
}

/** One line of scalars. The page has all of them. */
function scalarLines({ scalars, hiddenScalars }: Status): string[] {
  const shown = scalars.slice(0, maxScalarsShown);
  const left = scalars.length - shown.length + hiddenScalars;
  const texts = shown.map(({ name, value }) => `${name} ${formatScalar(value)}`);
  return shown.length === 0 ? [] : [[...texts, ...(left > 0 ? [`… ${left} more scalars`] : [])].join('   ')];
}

function rowOf({
  rank,
  host,
  state,
  age,
  steps,
  rate,
  stepSeconds,
  input,
  compute,
  waiting,
}: RankView): string[] {
  return [
    String(rank),
    host,
    state === 'silent' ? `silent ${formatDuration(1000 * age)}` : state,
    String(steps),
    rate === undefined ? '-' : rate.toFixed(0),
    stepSeconds === undefined ? '-' : formatStep(stepSeconds),
    ...[input, compute, waiting].map((part) => `${(100 * part).toFixed(1)}%`),
  ];
}

function footOf({ slowest, missing, events }: Status): string[] {
  const verdict =
    slowest === undefined
      ? []
      : [
          `slowest: rank ${slowest.rank} on ${slowest.host}, which waited ${slowest.waited.toFixed(2)} s, the others ${slowest.othersWaited.toFixed(2)} s on average`,
        ];
  const silent = missing.length > 0 ? [`no figures yet from rank ${missing.join(', ')}`] : [];
  return [...verdict, ...silent, ...events.slice(-maxEvents).map(formatEvent)];
}

/** In UTC, as hosts may have different time zones. */
function formatEvent({ at, what }: Status['events'][number]): string {
  return `${new Date(at).toISOString().slice(11, 19)} ${what.split('\n', 1)[0]}`;
}

/** Columns of equal width; host and state start at the left, numbers end at the right. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const isText = (column: number) => column === 1 || column === 2;
  return rows.map((row) =>
    row
      .map((cell, column) => (isText(column) ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  '),
  );
}
