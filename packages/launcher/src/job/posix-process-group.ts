import { readdirSync, readFileSync } from 'node:fs';

/** Sends `signal` to every process of the group. */
export function signalProcessGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // No process is left (ESRCH), or only processes that changed their user (EPERM).
  }
}

/**
 * Whether any process of the group still runs.
 *
 * Zombies do not count if /proc shows them: in a container whose first process is the launcher, orphans are not reaped.
 */
export function processGroupIsLeft(group: number): boolean {
  try {
    process.kill(-group, 0);
  } catch {
    return false;
  }
  const members = readProcessStats().filter((process) => process.group === group);
  return members.length === 0 || members.some(({ state }) => state !== 'Z' && state !== 'X');
}

/**
 * Parses state and process group in /proc/<pid>/stat (proc(5)). The command before them may contain spaces and
 * parentheses.
 */
export function parseProcessStat(stat: string): { state: string; group: number } {
  const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state, group: Number(group) };
}

/** The state of a process (proc(5)), such as `Z` for a zombie; undefined if it does not exist or if there is no /proc. */
export function processState(pid: number): string | undefined {
  return statOf(pid)?.state;
}

function readProcessStats(): { state: string; group: number }[] {
  let pids: string[];
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return pids.flatMap((pid) => statOf(Number(pid)) ?? []);
}

/** Undefined for a process that has ended. */
function statOf(pid: number): { state: string; group: number } | undefined {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return undefined;
  }
}
