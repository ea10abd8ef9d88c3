import { dirname } from 'node:path';
import { RingrunError } from '@ringrun/core';
import { loadNativeIfBuilt } from '@ringrun/native';
import { describeError, timeNow } from './error-record.ts';
import type { ErrorRecord } from './error-record.ts';
import { leaseExpired } from './launcher-pipe.ts';
import type { LauncherPipe } from './launcher-pipe.ts';

/**
 * Kills this worker's process group when the launcher has ended or no longer renews the lease of its node, on a thread of the
 * addon: training may block the event loop indefinitely, for example in a collective.
 *
 * @param errorFile in the launcher's temporary folder, which the worker then removes in its place
 */
export function watchLauncher(
  { descriptor, launcherPid }: LauncherPipe,
  rank: string,
  errorFile: string | undefined,
): void {
  // A process whose parent has ended belongs to another parent, such as pid 1.
  const startedAlone = process.ppid !== launcherPid;
  const ended = `its launcher (pid ${launcherPid}) ${startedAlone ? 'ended before this worker had started' : 'has ended'}`;
  const expired = leaseExpired(launcherPid);
  const line = (why: string) => `ringrun: rank ${rank} (pid ${process.pid}) ends because ${why}\n`;
  try {
    const native = loadNativeIfBuilt();
    if (native === undefined)
      throw new Error('no binary of the addon exists yet; run `npx ringrun build-native`');
    native.watchLauncher({
      descriptor,
      launcherEnded: line(ended),
      leaseExpired: line(expired),
      ...(errorFile === undefined
        ? {}
        : { folder: dirname(errorFile), recordFile: errorFile, record: recordOf(expired) }),
    });
  } catch (error) {
    process.stderr.write(
      `ringrun: rank ${rank} continues, but will not end with its launcher: ${(error as Error).message}.\n`,
    );
  }
}

function recordOf(why: string): string {
  const error = new RingrunError('ERR_LEASE_EXPIRED', why);
  // The error's stack is of no use.
  error.stack = `${error.name}: ${why}`;
  const record: Partial<ErrorRecord> = describeError(error, process.env, timeNow());
  // Those of the end.
  delete record.time;
  delete record.hostTime;
  return JSON.stringify(record);
}
