import { stepBounds } from '../../src/worker/rank-figures.ts';
import type { RankFigures } from '../../src/worker/rank-figures.ts';

/** Figures of a rank after ten seconds of a training without a report, in which it waited for two. */
export function figuresWithoutReport(rank: number): RankFigures {
  const work = { seconds: 10, input: 1, compute: 6, waiting: 2, steps: 100, samples: 800 };
  return {
    runId: 'job',
    restartCount: 0,
    rank,
    worldSize: 2,
    host: `host${rank}`,
    pid: 100 + rank,
    writtenAt: 1_000_000,
    phase: 'training',
    total: work,
    recent: work,
    stepCounts: stepBounds.map((bound) => (bound === 0.1 ? 100 : 0)).concat(0),
    stepSeconds: 9.5,
  };
}

/** Those figures, of a training with a report. */
export function figuresOf(rank: number, change: Partial<RankFigures> = {}): RankFigures {
  return {
    ...figuresWithoutReport(rank),
    progress: {
      unit: 'images',
      epoch: 2,
      epochs: 4,
      stepOfEpoch: 50,
      stepsOfEpoch: 100,
      step: 150,
      loss: 0.5,
      learningRate: 0.1,
    },
    ...change,
  };
}
