import { isIndependent } from '@ringrun/rendezvous/rounds';
import type { RootCause } from '@ringrun/rendezvous/rounds';
import { reportFailure } from './failure-report.ts';
import type { FailedRun, FailureReport } from './failure-report.ts';
import { failedAt, findEarlyLeavers, findRootCause } from './find-root-cause.ts';
import type { RootWorker } from './find-root-cause.ts';
import { exitCodeOf } from './signal-words.ts';

/** Milliseconds after the start within which a failure counts as a start-up failure. */
const startUpMs = 30_000;

/** The root cause of this node, to share with all nodes; undefined if no worker failed on its own. */
export function rootCauseOf(run: FailedRun): RootCause | undefined {
  const root = findRootCause(run.workers);
  return root && describe(root, run);
}

/** Explains failures on other nodes if a worker of this node left early. */
export function earlyLeaveOf(run: FailedRun): RootCause | undefined {
  const left = findEarlyLeavers(run.workers).at(0);
  return left && describe(left, run);
}

function describe(root: RootWorker, run: FailedRun): RootCause {
  const { worker, kind } = root;
  const report = reportFailure(run, worker);
  return {
    kind,
    exitCode: report.exitCode,
    headline: headlineOf(report),
    text: report.text,
    startUpFingerprint: failedAt(worker) - run.startedAt < startUpMs ? fingerprintOf(root) : undefined,
  };
}

/**
 * Why the workers ended, if they saved a checkpoint after SIGTERM on any rank and nothing else failed. The ranks of
 * other nodes may have ended before their own launcher has sent them a signal.
 */
export function preemptionOf(run: FailedRun): RootCause | undefined {
  const preempted = run.workers.find(({ error }) => error?.code === 'ERR_PREEMPTED');
  const root = findRootCause(run.workers);
  const hasOtherCause =
    root !== undefined && isIndependent(root.kind) && root.worker.error?.code !== 'ERR_PREEMPTED';
  if (preempted === undefined || hasOtherCause) return undefined;
  const headline = preempted.error!.message;
  return {
    kind: 'own',
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
function fingerprintOf({ worker: { outcome, error }, kind }: RootWorker): string | undefined {
  if (outcome.startError !== undefined) return outcome.startError;
  if (error === undefined || !isIndependent(kind)) return undefined;
  return `${outcome.exitCode ?? ''} ${error.message}\n${error.stack}`;
}
