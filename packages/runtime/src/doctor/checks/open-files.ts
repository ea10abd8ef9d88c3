import { readFileSync } from 'node:fs';
import { ok, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** Descriptors that a process has open anyway: Node's own, libraries, the data set, logs. */
const own = 64;

/** Connections of rank 0 for each process of a job: to the store, and to the group (TCP, and its control connection). */
const perProcess = 3;

/** A job of this many processes is common. */
const enough = 256;

export function examineOpenFiles(): Finding {
  return judgeOpenFiles(parseOpenFilesLimit(read('/proc/self/limits')));
}

/** The soft limit in the text of /proc/self/limits (proc(5)); Node has raised its own to the hard one when it started. Undefined where nothing tells. */
export function parseOpenFilesLimit(limits: string): number | undefined {
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : soft === 'unlimited' ? Infinity : Number(soft);
}

export function judgeOpenFiles(limit: number | undefined): Finding {
  if (limit === undefined) return ok('this system does not tell its limit');
  const processes = Math.max(0, Math.floor((limit - own) / perProcess));
  if (processes >= enough) return ok(`up to ${limit}`, { limit });
  return warning(
    `at most ${limit}, which rank 0 uses up in a job of ${processes + 1} processes`,
    'ulimit -n 65536, or LimitNOFILE= of the service that starts containers',
    { limit },
  );
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
