import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface RunningProcess {
  pid: number;
  parent: number;
  environment: ReadonlyMap<string, string>;
}

/**
 * The processes of this machine that were started with `name=value` in their environment. Descendants inherit it, even
 * if they leave the process group or lose their parent. Zombies have no environment and are not included.
 */
export function processesWith(name: string, value: string): RunningProcess[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => readProcess(Number(entry)))
    .filter((process) => process?.environment.get(name) === value) as RunningProcess[];
}

/** Kills them with SIGKILL. */
export function killAll(processes: readonly Pick<RunningProcess, 'pid'>[]): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process ended after it was listed.
    }
  }
}

/** Resolves when the process has stopped after a SIGSTOP, which takes effect a moment after it was sent. */
export async function hasStopped(pid: number): Promise<void> {
  while (fieldsOfStat(pid)[0] !== 'T') await delay(1);
}

/**
 * The state of a process and the fields after it. proc(5): the command before the state may contain spaces and
 * parentheses.
 */
function fieldsOfStat(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function readProcess(pid: number): RunningProcess | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
    const parent = Number(fieldsOfStat(pid)[1]);
    return { pid, parent, environment: parseEnvironment(environment) };
  } catch {
    // The process ended after the folder was read, or belongs to another user.
    return undefined;
  }
}

function parseEnvironment(text: string): Map<string, string> {
  return new Map(
    text.split('\0').map((entry) => {
      const end = entry.indexOf('=');
      return [entry.slice(0, end), entry.slice(end + 1)];
    }),
  );
}
