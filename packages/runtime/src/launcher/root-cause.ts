import type { RootCause } from '../rendezvous/state.ts';
import { failedAt, findRootCause, isConsequence, reportFailure } from './failure-report.ts';
import type { FailedRun, FailureReport, WorkerRecord } from './failure-report.ts';

/** Milliseconds after their start in which workers are starting up, rather than at work. */
const startUpMs = 30_000;

/** Why the workers of this node failed, for all nodes to know; undefined when none failed by itself. */
export function rootCauseOf(run: FailedRun): RootCause | undefined {
  const root = findRootCause(run.workers);
  const report = reportFailure(run);
  if (!root || !report) return undefined;
  return {
    isConsequence: isConsequence(root),
    exitCode: report.exitCode,
    headline: headlineOf(report),
    text: report.text,
    startUpFingerprint: failedAt(root) - run.startedAt < startUpMs ? fingerprintOf(root) : undefined,
  };
}

/** What the report says of the root cause, on one line. */
function headlineOf({ text }: FailureReport): string {
  const beginning = 'ringrun: root cause: ';
  const line = text.split('\n').findLast((one) => one.startsWith(beginning))!;
  return line.slice(beginning.length);
}

/** Equal for equal failures. A signal, or an exit code alone, may have another reason each time. */
function fingerprintOf({ outcome, error }: WorkerRecord): string | undefined {
  if (outcome.startError !== undefined) return outcome.startError;
  if (error === undefined || error.code === 'ERR_PEER_DIED') return undefined;
  return `${outcome.exitCode ?? ''} ${error.message}\n${error.stack}`;
}
