/**
 * The interface between a worker and the launcher that started it: the records it leaves for the launcher (error,
 * figures, marks) and how it runs TypeScript. The commands are `@ringrun/launcher/command`; scripts import `ringrun`.
 *
 * @module @ringrun/launcher
 */
export { isTypeScript, runTypeScript } from './typescript/run-typescript.ts';
export type { Blame, BlamedRank } from './worker/blame.ts';
export { recordError } from './worker/error-record.ts';
export { awaitsAtTopLevel } from './worker/exit-record.ts';
export type { ErrorRecord } from './worker/error-record.ts';
export { installErrorRecord } from './worker/install-error-record.ts';
export type { ErrorRecordOptions } from './worker/install-error-record.ts';
export { figuresVariable, formatFigures, noWork, stepBounds } from './worker/rank-figures.ts';
export type { Phase, Progress, Work } from './worker/rank-figures.ts';
export { maxRecentPoints, maxScalars } from './worker/rank-scalars.ts';
export type { RankScalar } from './worker/rank-scalars.ts';
export { setRecoveryMark } from './worker/recovery-mark.ts';
export { ownSavingMark, removeMark, setMark } from './worker/saving-mark.ts';
export type { SourceLocation } from './worker/source-location.ts';
export { leastWaiting, slowestFirst, slowestRank } from './worker/slowest-rank.ts';
export type { RankSummary } from './worker/slowest-rank.ts';
