import { startPublishingSteps } from './publish-figures.ts';
import { startCountingSteps } from './train-job/counted-steps.ts';

export type { RankSummary } from '@ringrun/launcher';
export type { Output } from '@ringrun/core';
export {
  trainingReport,
  type DoneBefore,
  type LossTensor,
  type ModelWithGradients,
  type ParameterWithGradient,
  type StepReport,
  type TrainingReport,
  type TrainingReportOptions,
} from './training-report.ts';

startCountingSteps();
startPublishingSteps();
