import type { RootCause } from '@ringrun/rendezvous/rounds';
import { failedAt, findRootCause, isConsequence, reportFailure } from './failure-report.ts';
import { exitCodeOf } from './signal-words.ts';
import type { FailedRun, FailureReport, WorkerRecord } from './failure-report.ts';

/** Milliseconds after the start within which a failure counts as a start-up failure. */
const startUpMs = 30_000;

/** The root cause of this node, to share with all nodes; undefined if no worker failed on its own. */
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

/**
 * Why the workers ended, if they saved a checkpoint after SIGTERM on any rank and nothing else failed. The ranks of
 * other nodes may have ended before their own launcher has sent them a signal.
 */
export function preemptionOf(run: FailedRun): RootCause | undefined {
  const preempted = run.workers.find(({ error }) => error?.code === 'ERR_PREEMPTED');
  const root = findRootCause(run.workers);
  const hasOtherCause = root !== undefined && root.error?.code !== 'ERR_PREEMPTED' && !isConsequence(root);
  if (preempted === undefined || hasOtherCause) return undefined;
  const headline = preempted.error!.message;
  return {
    isConsequence: false,
    exitCode: exitCodeOf('SIGTERM'),
    headline,
    text: `ringrun: ${headline}\n`,
    startUpFingerprint: undefined,
    isPreemption: true,
  };
}

/** The line of the report that names the root cause, without its prefix. */
function headlineOf({ text }: FailureReport): string {
  const beginning = 'ringrun: root cause: ';
  const line = text.split('\n').findLast((one) => one.startsWith(beginning))!;
  return line.slice(beginning.length);
}

/** Equal for equal failures. Undefined for a signal or a bare exit code, which may have another cause each time. */
function fingerprintOf({ outcome, error }: WorkerRecord): string | undefined {
  if (outcome.startError !== undefined) return outcome.startError;
  if (error === undefined || error.code === 'ERR_PEER_DIED') return undefined;
  return `${outcome.exitCode ?? ''} ${error.message}\n${error.stack}`;
}
