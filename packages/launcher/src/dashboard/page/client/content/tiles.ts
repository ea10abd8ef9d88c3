import type { Status } from '../../../status.ts';
import { isKnown, lossText, rateText, stepText } from './text.ts';

/** One figure in large type. */
export interface Tile {
  readonly name: string;
  readonly value: string;
  readonly remark: string;
}

export function tilesOf({ loss, learningRate, unit, rate, stepSeconds, slowest }: Status): Tile[] {
  return [
    {
      name: 'Loss',
      value: lossText(loss),
      remark: isKnown(learningRate)
        ? `learning rate ${Number(learningRate.toPrecision(3))}`
        : 'mean of the ranks',
    },
    { name: `${unit}/s`, value: rateText(rate), remark: 'all ranks, last 10 s' },
    { name: 'Step', value: stepText(stepSeconds), remark: 'mean of the last 10 s' },
    slowest === undefined
      ? { name: 'Slowest rank', value: 'none', remark: 'all ranks wait equally long' }
      : {
          name: 'Slowest rank',
          value: `rank ${slowest.rank}`,
          remark: `waited ${slowest.waited.toFixed(1)} s, the others ${slowest.othersWaited.toFixed(1)} s`,
        },
  ];
}
