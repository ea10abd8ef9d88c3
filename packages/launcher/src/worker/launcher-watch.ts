// A thread that kills the worker's process group when the launcher has ended or no longer renews the lease of its node.
// It also reports the state of the main thread.
import { rm, write } from 'node:fs';
import { Socket } from 'node:net';
import { dirname } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { serveStacks } from '../stacks/stack-server.ts';
import { hostTime } from './host-time.ts';
import { LeaseMessages, leaseExpired } from './launcher-pipe.ts';

export interface LauncherWatch {
  descriptor: number;
  launcherPid: number;
  /** Whether the launcher had ended before this worker had started. */
  startedAlone: boolean;
  rank: string;
  /** In the launcher's temporary folder, which this thread removes in its place. */
  errorFile: string | undefined;
}

const { descriptor, launcherPid, startedAlone, rank, errorFile } = workerData as LauncherWatch;

const maxMsForLastWords = 200;

if (errorFile !== undefined) serveStacks(rank, errorFile, parentPort!);

const messages = new LeaseMessages();
let timer: NodeJS.Timeout | undefined;

new Socket({ fd: descriptor, readable: true, writable: false })
  .setEncoding('latin1')
  // After an error, such as a connection reset, `close` follows too.
  .on('error', () => undefined)
  .on('close', endWithLauncher)
  .on('data', (chunk: string) => {
    const end = messages.lastEnd(chunk);
    if (end === undefined) return;
    clearTimeout(timer);
    timer = setTimeout(endWithLease, Math.max(0, end - hostTime()));
  });

function endWithLauncher(): void {
  // The reader of stderr may have ended with the launcher, or be blocked.
  setTimeout(killGroup, maxMsForLastWords);
  const why = `its launcher (pid ${launcherPid}) ${startedAlone ? 'ended before this worker had started' : 'has ended'}`;
  if (errorFile === undefined) report(why);
  else
    rm(dirname(errorFile), { recursive: true, force: true }, () => {
      report(why);
    });
}

/** Messages that arrived while this process was stopped are read before the check. */
function endWithLease(): void {
  const expired = timer;
  setImmediate(() => {
    if (timer !== expired) return;
    setTimeout(killGroup, maxMsForLastWords);
    const why = leaseExpired(launcherPid);
    void record(why).finally(() => {
      report(why);
    });
  });
}

/** Loads its modules only on demand, because the thread starts with every worker. */
async function record(why: string): Promise<void> {
  const [{ RingrunError }, { recordError }] = await Promise.all([
    import('@ringrun/core'),
    import('./error-record.ts'),
  ]);
  const error = new RingrunError('ERR_LEASE_EXPIRED', why);
  // The error's stack is of no use.
  error.stack = `${error.name}: ${why}`;
  recordError(error);
}

function report(why: string): void {
  write(2, `ringrun: rank ${rank} (pid ${process.pid}) ends because ${why}\n`, killGroup);
}

function killGroup(): void {
  // The launcher started this process as the leader of a process group.
  process.kill(-process.pid, 'SIGKILL');
}
