import { startPublishingScalars, startPublishingSteps } from './publish-figures.ts';
import { startCountingSteps } from './train-job/counted-steps.ts';

export type { RankSummary } from '@ringrun/launcher';
export type { Output } from '@ringrun/core';
export { trainingReport, type TrainingReport } from './training-report.ts';
export type {
  DoneBefore,
  LossTensor,
  ModelWithGradients,
  ParameterWithGradient,
  StepReport,
  TrainingReportOptions,
} from './training-report-options.ts';

startCountingSteps();
startPublishingSteps();
startPublishingScalars();
