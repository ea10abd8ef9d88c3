// The first module of every worker that the launcher starts.
import { isMainThread, Worker } from 'node:worker_threads';
import { installErrorRecord } from './install-error-record.ts';
import { launcherPipeVariable, parseLauncherPipe } from './launcher-pipe.ts';
import type { LauncherWatch } from './launcher-watch.ts';
import { preloadPackages } from './preload-packages.ts';
import { reportTimeouts } from '../stacks/report-timeout.ts';

const pipe = process.env[launcherPipeVariable];

// Child processes of the script inherit its --import options. They are not workers: the variable is deleted below.
if (isMainThread && pipe !== undefined) {
  Reflect.deleteProperty(process.env, launcherPipeVariable);
  installErrorRecord({ shownByLauncher: true });
  watchLauncher(pipe);
  preloadPackages(process.argv[1]);
}

/** Runs on a separate thread, because training may block the event loop indefinitely, for example in a collective. */
function watchLauncher(pipe: string): void {
  const { RANK: rank = '?', RINGRUN_ERROR_FILE: errorFile } = process.env;
  const { descriptor, launcherPid } = parseLauncherPipe(pipe);
  // A process whose parent has ended belongs to another parent, such as pid 1.
  const startedAlone = process.ppid !== launcherPid;
  const workerData: LauncherWatch = { descriptor, launcherPid, startedAlone, rank, errorFile };
  // The file next to this one: compiled or TypeScript source.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const entry = new URL(`./launcher-watch.${extension}`, import.meta.url);
  const watch = new Worker(entry, { workerData, execArgv: [] });
  watch.on('error', (error) => {
    process.stderr.write(
      `ringrun: rank ${rank} continues, but will not end with its launcher: its helper thread failed (${error.message}).\n`,
    );
  });
  watch.unref();
  if (errorFile !== undefined) reportTimeouts(watch);
}
