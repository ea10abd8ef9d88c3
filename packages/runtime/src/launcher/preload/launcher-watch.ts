// A thread that kills the worker's process group when the launcher has ended.
import { rm, write } from 'node:fs';
import { Socket } from 'node:net';
import { dirname } from 'node:path';
import { workerData } from 'node:worker_threads';

export interface LauncherWatch {
  descriptor: number;
  launcherPid: number;
  rank: string;
  /** In the launcher's temporary folder, which this thread removes in its place. */
  errorFile: string | undefined;
}

const { descriptor, launcherPid, rank, errorFile } = workerData as LauncherWatch;

const mostMsForLastWords = 200;

new Socket({ fd: descriptor, readable: true, writable: false })
  // After an error, such as a connection reset, `close` follows too.
  .on('error', () => undefined)
  .on('close', endWithEverything)
  .resume();

function endWithEverything(): void {
  // The reader of stderr may have ended with the launcher, or be blocked.
  setTimeout(killGroup, mostMsForLastWords);
  if (errorFile === undefined) reportReason();
  else rm(dirname(errorFile), { recursive: true, force: true }, reportReason);
}

function reportReason(): void {
  const why = `its launcher (pid ${launcherPid}) has ended`;
  write(2, `ringrun: rank ${rank} (pid ${process.pid}) ends because ${why}\n`, killGroup);
}

function killGroup(): void {
  // The launcher started this process as the leader of a process group.
  process.kill(-process.pid, 'SIGKILL');
}
