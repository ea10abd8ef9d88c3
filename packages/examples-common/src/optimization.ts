import { optim, type nn } from '@ringrun/nn';
import type { Settings } from './settings.ts';

/** The optimizer and its learning rate schedule. */
export interface Optimization {
  optimizer: optim.Optimizer;
  /** Stepped after each batch; undefined if the learning rate is constant. */
  scheduler?: Scheduler | undefined;
}

type Scheduler = optim.lrScheduler.LRScheduler | optim.lrScheduler.SequentialLR;

/** Length of the training, in steps per rank. */
export interface TrainingLength {
  stepsPerEpoch: number;
  epochs: number;
}

export function optimizationOf(
  model: nn.Module,
  lr: number,
  length: TrainingLength,
  settings: Settings,
): Optimization {
  const optimizer = optimizerOf(model, lr, settings);
  return { optimizer, scheduler: schedulerOf(optimizer, lr, length, settings) };
}

function optimizerOf(
  model: nn.Module,
  lr: number,
  { optimizer, momentum, weightDecay }: Settings,
): optim.Optimizer {
  const parameters = model.parameters();
  if (optimizer === 'sgd') return new optim.SGD(parameters, { lr, momentum, weightDecay });
  if (optimizer === 'adam') return new optim.Adam(parameters, { lr, weightDecay });
  return new optim.AdamW(parameters, { lr, weightDecay });
}

function schedulerOf(
  optimizer: optim.Optimizer,
  lr: number,
  { stepsPerEpoch, epochs }: TrainingLength,
  { schedule, warmup, momentum }: Settings,
): Scheduler | undefined {
  const { CosineAnnealingLR, LinearLR, MultiStepLR, OneCycleLR, SequentialLR } = optim.lrScheduler;
  const total = stepsPerEpoch * epochs;
  const rising = Math.round(stepsPerEpoch * warmup);
  if (schedule === 'onecycle') {
    const cycleMomentum = !(optimizer instanceof optim.SGD) || momentum > 0;
    const pctStart = rising > 0 ? rising / total : 0.3;
    return new OneCycleLR(optimizer, lr, { totalSteps: total, pctStart, cycleMomentum });
  }
  const rise = rising > 0 && new LinearLR(optimizer, { startFactor: 1 / (rising + 1), totalIters: rising });
  const left = Math.max(1, total - rising);
  const rest =
    schedule === 'cosine'
      ? new CosineAnnealingLR(optimizer, left)
      : schedule === 'step' && new MultiStepLR(optimizer, thirds(left));
  if (rise && rest) return new SequentialLR(optimizer, [rise, rest], [rising]);
  return rise || rest || undefined;
}

/** Steps at which the learning rate is divided by 10. */
function thirds(steps: number): number[] {
  return [Math.ceil(steps / 3), Math.ceil((2 * steps) / 3)];
}
