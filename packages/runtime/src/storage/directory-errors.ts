import { StorageError } from './storage-error.ts';
import type { StorageProblem } from './storage-error.ts';

/** Problem and fix by error code of the system call. */
const meanings: Readonly<Partial<Record<string, [StorageProblem, cure: string]>>> = {
  ENOENT: ['not found', 'Check the path, and that the volume is mounted on this host'],
  ENOTDIR: ['not found', 'A part of the path is a file; check it'],
  EEXIST: ['not found', 'A part of the path is a file; check it'],
  EISDIR: ['not found', 'It is a folder; name a file'],
  EACCES: ['no permission', "Allow this process's user to access it, or choose another folder"],
  EPERM: ['no permission', "Allow this process's user to access it, or choose another folder"],
  EROFS: ['read-only', 'Mount the volume with write access, or choose another folder'],
  EMFILE: ['failed', 'Raise the limit of open files before the start: ulimit -n 65536'],
  ENFILE: ['failed', 'Raise the limit of open files of this host: sysctl fs.file-max'],
  ENOSPC: ['full', 'Free space on the volume, or choose another one'],
  ESTALE: [
    'interrupted',
    'Another host replaced the file or the server was restarted; mount the volume again if it lasts',
  ],
  EDQUOT: ['full', "Free space in this user's quota, or choose another volume"],
};

/** Codes that libuv does not know, by Linux's number: its message is `Unknown system error -116`. */
const unknownToLibuv: Readonly<Partial<Record<number, readonly [code: string, text: string]>>> = {
  [-116]: ['ESTALE', 'stale file handle'],
  [-122]: ['EDQUOT', 'disk quota exceeded'],
};

/** The code of a system call's error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  const { code, errno = 0 } = error as NodeJS.ErrnoException;
  return unknownToLibuv[errno]?.[0] ?? code;
}

/** Converts the error of a system call. `attempt` is the failed action, such as `writing /data/a`. */
export function directoryError(attempt: string, cause: unknown): StorageError {
  const { errno = 0, message } = cause as NodeJS.ErrnoException;
  const [problem, cure] = meanings[systemCode(cause) ?? ''] ?? ['failed', 'Check the volume'];
  const reason = message.replaceAll(/Unknown system error -\d+/g, (unknown, at: number) => {
    const [code, text] = unknownToLibuv[errno] ?? [unknown, unknown];
    return at === 0 ? code : text;
  });
  return new StorageError(problem, attempt, reason, cure, { cause });
}
