// The first module of every worker that the launcher starts.
import { isMainThread } from 'node:worker_threads';
import { installErrorRecord } from './install-error-record.ts';
import { launcherPipeVariable, parseLauncherPipe } from './launcher-pipe.ts';
import { preloadPackages } from './preload-packages.ts';
import { watchLauncher } from './watch-launcher.ts';
import { reportTimeouts } from '../stacks/report-timeout.ts';
import { StackThread } from '../stacks/stack-thread.ts';

const pipe = process.env[launcherPipeVariable];

// Child processes of the script inherit its --import options. They are not workers: the variable is deleted below.
if (isMainThread && pipe !== undefined) {
  Reflect.deleteProperty(process.env, launcherPipeVariable);
  installErrorRecord({ shownByLauncher: true });
  const launcher = parseLauncherPipe(pipe);
  const { RANK: rank = '?', RINGRUN_ERROR_FILE: errorFile } = process.env;
  watchLauncher(launcher, rank, errorFile);
  if (errorFile !== undefined)
    reportTimeouts(new StackThread({ rank, errorFile }, launcher.stackThreadAfterMs));
  preloadPackages(process.argv[1]);
}
