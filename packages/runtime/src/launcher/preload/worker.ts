// The first module of every worker that the launcher starts.
import { isMainThread, Worker } from 'node:worker_threads';
import { installErrorRecord } from '../../errors/error-record.ts';
import { launcherPipeVariable } from './launcher-pipe.ts';
import type { LauncherWatch } from './launcher-watch.ts';

const pipe = process.env[launcherPipeVariable];

// Node processes that the script starts inherit its --import options; without the variable they know that they are not the worker.
if (isMainThread && pipe !== undefined) {
  Reflect.deleteProperty(process.env, launcherPipeVariable);
  installErrorRecord({ shownByLauncher: true });
  watchLauncher(Number(pipe));
}

/** On a thread of its own: training may hold the event loop for as long as it likes, in a collective too. */
function watchLauncher(descriptor: number): void {
  const { RANK: rank = '?', RINGRUN_ERROR_FILE: errorFile } = process.env;
  const workerData: LauncherWatch = { descriptor, launcherPid: process.ppid, rank, errorFile };
  const watch = new Worker(new URL('./launcher-watch.js', import.meta.url), { workerData, execArgv: [] });
  watch.unref();
}
