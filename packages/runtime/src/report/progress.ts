import { formatDuration } from '@ringrun/core';
import type { Output } from '@ringrun/core';
import type { SingleBar } from 'cli-progress';
import { whenUsed } from '../when-used.ts';

const bars = whenUsed('cli-progress') as () => typeof import('cli-progress');

/** An epoch that is about to start. */
export interface Epoch {
  /** From 1. */
  number: number;
  /** Total number of epochs; undefined if unknown. */
  of: number | undefined;
  /** Number of batches of this rank. */
  steps: number;
  /** Number of these batches that were completed before resuming mid-epoch. */
  stepsBefore: number;
  /** Number of samples of all ranks. */
  samples: number;
}

/** ProgressDisplay within an epoch. */
export interface EpochProgress {
  /** Completed steps of this rank. */
  steps: number;
  /** Samples of all ranks in these steps. */
  samples: number;
  /** Of all ranks. */
  samplesPerSecond: number;
}

/** Displays the progress of an epoch. */
export interface ProgressDisplay {
  begin(epoch: Epoch): void;
  /**
   * Whether to show step `step` of the epoch (from 0). The loss is read only for these steps, so the other
   * steps cost almost nothing.
   */
  isDue(step: number): boolean;
  /** @param before progress before the step; `now`: after it */
  show(before: EpochProgress, now: EpochProgress, loss: number): void;
  /** Called when the epoch ends or its loop is left. Does nothing without a preceding `begin`. */
  end(): void;
}

/** Returns a progress bar if `output` is a terminal; otherwise it prints a line every `logInterval` steps. */
export function progressDisplayOn(
  output: Output,
  { logInterval, unit }: { logInterval: number; unit: string },
): ProgressDisplay {
  return output.isTTY === true ? new ProgressBar(output, unit) : new ProgressLines(output, logInterval);
}

/** For ranks without output. */
export const noProgressDisplay: ProgressDisplay = {
  begin: () => undefined,
  isDue: () => false,
  show: () => undefined,
  end: () => undefined,
};

/** Ten updates per second look continuous. */
const msBetweenDrawings = 100;
/** Maximum width of the bar; the figures use the rest of the line. */
const barSize = { min: 5, max: 40 };
const columnsOfFigures = 66;

class ProgressBar implements ProgressDisplay {
  readonly #output: Output;
  readonly #unit: string;
  #bar: SingleBar | undefined;
  #steps = 0;
  #stepsBefore = 0;
  #startedAt = 0;
  #nextDrawingAt = 0;

  constructor(output: Output, unit: string) {
    this.#output = output;
    this.#unit = unit;
  }

  begin({ number, of, steps, stepsBefore }: Epoch): void {
    const room = (this.#output.columns ?? 80) - columnsOfFigures;
    this.#bar = new (bars().SingleBar)({
      stream: this.#output,
      format: `Epoch {epoch} [{bar}] {percentage}%  loss {loss}  {rate} ${this.#unit}/s  {left} left`,
      barsize: Math.min(Math.max(room, barSize.min), barSize.max),
      barCompleteChar: '=',
      barIncompleteChar: ' ',
      // Its handler of SIGINT and SIGTERM would keep the process alive after the first Ctrl-C. It is not
      // needed, since the bar does not change terminal settings.
      gracefulExit: false,
      linewrap: true,
    });
    const epoch = of === undefined ? `${number}` : `${number}/${of}`;
    this.#bar.start(steps, 0, { epoch, loss: '…', rate: '…', left: '…' });
    this.#steps = steps;
    this.#stepsBefore = stepsBefore;
    this.#startedAt = performance.now();
    this.#nextDrawingAt = 0;
  }

  isDue(step: number): boolean {
    return step === this.#steps - 1 || performance.now() >= this.#nextDrawingAt;
  }

  show(_: EpochProgress, { steps, samplesPerSecond }: EpochProgress, loss: number): void {
    const now = performance.now();
    const left = ((now - this.#startedAt) / 1000 / (steps - this.#stepsBefore)) * (this.#steps - steps);
    this.#bar?.update(steps, {
      loss: loss.toFixed(4),
      rate: samplesPerSecond.toFixed(0),
      left: formatDuration(1000 * Math.round(left)),
    });
    this.#nextDrawingAt = now + msBetweenDrawings;
  }

  end(): void {
    this.#bar?.stop();
    this.#bar = undefined;
  }
}

/** Lines in the format of PyTorch's and Kubeflow's MNIST examples, which Katib parses. */
class ProgressLines implements ProgressDisplay {
  readonly #output: Output;
  readonly #logInterval: number;
  #epoch: Epoch | undefined;

  constructor(output: Output, logInterval: number) {
    this.#output = output;
    this.#logInterval = logInterval;
  }

  begin(epoch: Epoch): void {
    this.#epoch = epoch;
  }

  isDue(step: number): boolean {
    return step % this.#logInterval === 0;
  }

  show(before: EpochProgress, _: EpochProgress, loss: number): void {
    if (this.#epoch === undefined) return;
    const { number, steps, samples } = this.#epoch;
    const percent = Math.round((100 * before.steps) / steps);
    this.#output.write(
      `Train Epoch: ${number} [${before.samples}/${samples} (${percent}%)]\tloss=${loss.toFixed(4)}\n`,
    );
  }

  end(): void {
    this.#epoch = undefined;
  }
}
