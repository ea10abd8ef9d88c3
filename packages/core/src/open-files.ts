import { readFileSync } from 'node:fs';

let limit: number | undefined;

/** The maximum number of open files of this process; Infinity if it is unknown. Node raises it to the hard limit at start. */
export function openFileLimit(): number {
  limit ??= readLimit() ?? reportedLimit();
  return limit ?? Infinity;
}

/**
 * The limit in the text of /proc/self/limits (proc(5)); undefined if the text has none.
 *
 * @param limits Text of /proc/self/limits.
 */
export function parseOpenFilesLimit(limits: string): number | undefined {
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : soft === 'unlimited' ? Infinity : Number(soft);
}

function readLimit(): number | undefined {
  try {
    return parseOpenFilesLimit(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    return undefined;
  }
}

/** Slow, but opens no file. */
function reportedLimit(): number | undefined {
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { soft?: number | 'unlimited' } };
  };
  const soft = userLimits?.open_files?.soft;
  return soft === 'unlimited' ? Infinity : soft;
}

/**
 * The problem and what to do, if an error or one of its causes is a lack of descriptors: `too many open files: the limit of
 * this process is 1024 (ulimit -n). Raise it …`. Undefined for other errors.
 */
export function openFilesProblem(error: unknown): string | undefined {
  switch (shortageOf(error)) {
    case 'EMFILE':
      return (
        `too many open files: the limit of this process is ${openFileLimit()} (ulimit -n). Raise it before the start, with ulimit -n 65536, ` +
        'LimitNOFILE= (systemd) or --ulimit nofile (Docker)'
      );
    case 'ENFILE':
      return 'too many open files on this host: its limit is in /proc/sys/fs/file-max. Raise it with sysctl fs.file-max, or end other processes';
    case undefined:
      return undefined;
  }
}

function shortageOf(error: unknown): 'EMFILE' | 'ENFILE' | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth += 1) {
    const { code } = one as NodeJS.ErrnoException;
    if (code === 'EMFILE' || code === 'ENFILE') return code;
    // The addon's errors have the system's text alone.
    if (/too many open files in system/i.test(one.message)) return 'ENFILE';
    if (/too many open files/i.test(one.message)) return 'EMFILE';
  }
  return undefined;
}
