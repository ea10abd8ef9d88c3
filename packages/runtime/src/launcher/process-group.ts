import { readdirSync, readFileSync } from 'node:fs';

/** Sends `signal` to every process of the group. */
export function signalProcessGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // Nobody is left (ESRCH), or only processes that changed their user (EPERM).
  }
}

/**
 * Whether any process of the group still runs.
 *
 * Zombies do not count, where /proc shows them: in a container whose first process is the launcher nobody collects orphans.
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

/** State and process group in the text of /proc/<pid>/stat (proc(5)); the command before them may hold spaces and parentheses. */
export function parseProcessStat(stat: string): { state: string; group: number } {
  const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state, group: Number(group) };
}

function readProcessStats(): { state: string; group: number }[] {
  let pids: string[];
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return pids.flatMap((pid) => {
    try {
      return [parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))];
    } catch {
      // It ended since the folder was read.
      return [];
    }
  });
}
