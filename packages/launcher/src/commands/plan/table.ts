import type { Links } from '@ringrun/core';
import { formatBytes } from '../doctor/units.ts';
import type { PlanOptions } from './options.ts';
import type { Prediction } from './prediction.ts';
import { formatSeconds } from './units.ts';

const headings = ['way', 'step', 'steps/s', 'efficiency', 'sent per step', 'limited by'] as const;

/** The predictions as text, one row for each way. */
export function formatPlan(links: Links, options: PlanOptions, predictions: readonly Prediction[]): string {
  const { ranksPerNode, modelBytes, stepSeconds } = options;
  const ranks = ranksPerNode === 1 ? 'one rank' : `${ranksPerNode} ranks`;
  const nodes = links.hosts.length === 1 ? '1 node' : `${links.hosts.length} nodes`;
  const rows = [headings, ...predictions.map(rowOf)];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => aligned(cell, widths[column], column))
      .join('  ')
      .trimEnd(),
  );
  return [
    `${nodes} with ${ranks} each, ${formatBytes(modelBytes)} of parameters, ${formatSeconds(stepSeconds)} of computation per step`,
    '',
    ...lines,
    '',
    'Predicted, not measured (docs/cost-model.md). PowerSGD: rank 1, square matrices of 1024. DiLoCo with fragments',
    'computes while it exchanges. How the loss falls with each way is not predicted.',
    '',
  ].join('\n');
}

function rowOf({ way, stepSeconds, stepsPerSecond, efficiency, bytesPerStep, limit }: Prediction): string[] {
  return [
    way,
    formatSeconds(stepSeconds),
    String(Number(stepsPerSecond.toPrecision(3))),
    `${Math.round(100 * efficiency)}%`,
    formatBytes(bytesPerStep),
    limit,
  ];
}

/** Numbers end in a column, words begin in one. */
function aligned(cell: string, width: number, column: number): string {
  return column === 0 || column === headings.length - 1 ? cell.padEnd(width) : cell.padStart(width);
}
