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
  EDQUOT: ['full', "Free space in this user's quota, or choose another volume"],
};

/** Converts the error of a system call. `attempt` is the failed action, such as `writing /data/a`. */
export function directoryError(attempt: string, cause: unknown): StorageError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const [problem, cure] = meanings[code ?? ''] ?? ['failed', 'Check the volume'];
  return new StorageError(problem, attempt, message, cure, { cause });
}
