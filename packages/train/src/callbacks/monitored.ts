import { InvalidArgumentError } from '@ringrun/core';
import type { MetricsByName } from './callback.ts';

/** Whether a lower or a higher value is better. */
export type Mode = 'min' | 'max';

/**
 * Whether a value is better than the best before, by more than `minDelta`. NaN is never better, and everything else is better than
 * nothing.
 */
export function isBetter(value: number, best: number | undefined, mode: Mode, minDelta = 0): boolean {
  if (Number.isNaN(value)) return false;
  if (best === undefined) return true;
  return mode === 'min' ? value + minDelta < best : value - minDelta > best;
}

/**
 * A number among the metrics.
 *
 * @throws InvalidArgumentError if there is none of the name
 */
export function monitored(who: string, metrics: MetricsByName, monitor: string): number {
  const value = metrics[monitor];
  if (typeof value === 'number') return value;
  const names = Object.keys(metrics).filter((name) => typeof metrics[name] === 'number');
  const got = value === undefined ? 'none' : 'an array';
  throw new InvalidArgumentError(
    `${who}: monitor: expected a number named ${monitor}, got ${got}. The training has ${names.join(', ') || 'no metrics yet'}.`,
  );
}
