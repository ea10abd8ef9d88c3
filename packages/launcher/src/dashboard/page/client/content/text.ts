import { formatLoss, formatStep } from '../../../format.ts';

/** Stands for a figure that is not known. */
export const dash = '–';

/** Whether there is a number. In JSON, numbers that are not finite are null. */
export function isKnown(value: number | null | undefined): value is number {
  return value !== undefined && value !== null;
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(0)}%`;
}

export function stepText(seconds: number | undefined): string {
  return isKnown(seconds) ? formatStep(seconds) : dash;
}

export function lossText(loss: number | null | undefined): string {
  return loss === undefined ? dash : formatLoss(loss, 2);
}

export function rateText(rate: number | undefined): string {
  return isKnown(rate) ? Math.round(rate).toLocaleString('en') : dash;
}
