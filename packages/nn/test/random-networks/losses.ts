import { called, fractions, integers, numbers, type Call } from './network.ts';
import type { Random } from './random.ts';

/** Draws a loss of an output. */
type DrawLoss = (random: Random, shape: readonly number[]) => Call | undefined;

const reductionOf = (random: Random) => random.some({ reduction: () => random.pick(['mean', 'sum']) });

const regression =
  (name: string, options: (random: Random) => Call['options'] = () => ({})): DrawLoss =>
  (random, shape) =>
    called(name, [numbers(shape, 21)], { ...reductionOf(random), ...options(random) });

const classification =
  (name: string, options: (random: Random, classes: number) => Call['options'] = () => ({})): DrawLoss =>
  (random, shape) =>
    shape.length === 2 && shape[1] > 1
      ? called(name, [integers([shape[0]], shape[1], 22)], {
          ...reductionOf(random),
          ...options(random, shape[1]),
        })
      : undefined;

/** Losses. A new one needs an entry here. */
export const losses: Readonly<Record<string, DrawLoss>> = {
  mseLoss: regression('mseLoss'),
  l1Loss: regression('l1Loss'),
  smoothL1Loss: regression('smoothL1Loss', (random) => random.some({ beta: () => 0.3 })),
  huberLoss: regression('huberLoss', (random) => random.some({ delta: () => 0.4 })),
  poissonNllLoss: regression('poissonNllLoss'),
  softMarginLoss: regression('softMarginLoss'),
  klDiv: (random, shape) =>
    called('klDiv', [fractions(shape, 23)], { reduction: random.pick(['sum', 'batchmean', 'mean']) }),
  binaryCrossEntropyWithLogits: (random, shape) =>
    called('binaryCrossEntropyWithLogits', [fractions(shape, 24)], reductionOf(random)),
  crossEntropy: classification('crossEntropy', (random, classes) =>
    random.some({ labelSmoothing: () => 0.1, weight: () => fractions([classes], 25), ignoreIndex: () => 0 }),
  ),
  multiMarginLoss: classification('multiMarginLoss'),
  multilabelSoftMarginLoss: (random, shape) =>
    shape.length === 2
      ? called('multilabelSoftMarginLoss', [fractions(shape, 26)], reductionOf(random))
      : undefined,
};
