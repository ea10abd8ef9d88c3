// A thread that ends the worker, and everything that it started, when the launcher is gone.
import { rm, write } from 'node:fs';
import { Socket } from 'node:net';
import { dirname } from 'node:path';
import { workerData } from 'node:worker_threads';

export interface LauncherWatch {
  descriptor: number;
  launcherPid: number;
  rank: string;
  /** In the folder of temporary files that the launcher can no longer remove. */
  errorFile: string | undefined;
}

const { descriptor, launcherPid, rank, errorFile } = workerData as LauncherWatch;

const mostMsForLastWords = 200;

new Socket({ fd: descriptor, readable: true, writable: false })
  // An error, such as a connection reset, is followed by `close` as well.
  .on('error', () => undefined)
  .on('close', endWithEverything)
  .resume();

function endWithEverything(): void {
  // Whoever reads stderr may have gone with the launcher, or read no longer.
  setTimeout(killGroup, mostMsForLastWords);
  if (errorFile === undefined) sayWhy();
  else rm(dirname(errorFile), { recursive: true, force: true }, sayWhy);
}

function sayWhy(): void {
  const gone = `its launcher (pid ${launcherPid}) is gone`;
  write(2, `ringrun: rank ${rank} (pid ${process.pid}) ends because ${gone}\n`, killGroup);
}

function killGroup(): void {
  // The launcher made this process the leader of a group of its own.
  process.kill(-process.pid, 'SIGKILL');
}
