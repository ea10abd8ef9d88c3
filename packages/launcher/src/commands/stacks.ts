// `ringrun stacks`: prints the operations and stacks of a job's ranks on this host.
import { hostname, tmpdir } from 'node:os';
import { namesIn } from '../host/host-files.ts';
import { collectStates } from '../stacks/collect.ts';
import { describeStates } from '../stacks/rank-state.ts';
import type { RankState } from '../stacks/rank-state.ts';
import { rankOfSocket } from '../stacks/stack-socket.ts';
import { launcherFolders } from '../worker/launcher-folder.ts';

const help = `Usage: ringrun stacks <pid or run id>

Prints what each rank of a running job does: the operation in which it waits, and its JavaScript stack.

  ringrun stacks 4711     the worker 4711, or all workers of the launcher 4711
  ringrun stacks my-job   all workers on this host of the job with RINGRUN_RUN_ID my-job

Run it on each host of the job, as the user who runs it, with the same TMPDIR. It interrupts each rank for some
milliseconds. A rank that waits for a promise has no JavaScript stack: the operation is printed.
`;

/** Runs the command and returns the exit code. */
export async function runStacks(argv: readonly string[]): Promise<number> {
  const target = argv.at(0);
  if (target === '--help' || target === '-h') {
    process.stdout.write(help);
    return 0;
  }
  if (argv.length !== 1 || target === undefined || target.startsWith('-')) {
    process.stderr.write(help);
    return 2;
  }
  const states = await statesOf(target);
  if (states.length === 0) {
    process.stderr.write(
      `ringrun stacks failed: expected a process or a run id of a job of this user on ${hostname()} with TMPDIR ${tmpdir()}, got ${target}. ` +
        'Pass the process id of the launcher or of a worker that it has started.\n',
    );
    return 1;
  }
  process.stdout.write(`ringrun: the ranks on host ${hostname()}:\n${describeStates(states, new Set())}`);
  return 0;
}

async function statesOf(target: string): Promise<RankState[]> {
  const folders = launcherFolders();
  if (!/^\d+$/.test(target)) {
    const states = await Promise.all(folders.map(({ path }) => collectStates(path)));
    return states.flat().filter(({ runId }) => runId === target);
  }
  const pid = Number(target);
  const own = folders.find(({ launcherPid }) => launcherPid === pid);
  if (own) return collectStates(own.path);
  const holding = folders.find(({ path }) => namesIn(path).some((name) => rankOfSocket(name)?.pid === pid));
  return holding ? collectStates(holding.path, (one) => one === pid) : [];
}
