import { StorageError } from './storage-error.ts';
import type { StorageProblem } from './storage-error.ts';

/** What the codes of the system's calls mean, and what to do about each. */
const meanings: Readonly<Partial<Record<string, [StorageProblem, cure: string]>>> = {
  ENOENT: ['not found', 'Check the path, and that the volume is mounted on this host'],
  ENOTDIR: ['not found', 'A part of the path is a file; check it'],
  EISDIR: ['not found', 'It is a folder; name a file'],
  EACCES: ['no permission', 'Give the user that this process runs as access to it, or choose another folder'],
  EPERM: ['no permission', 'Give the user that this process runs as access to it, or choose another folder'],
  EROFS: ['read-only', 'Mount the volume with write access, or choose another folder'],
  ENOSPC: ['full', 'Make room on the volume, or choose another one'],
  EDQUOT: ['full', "Make room in this user's quota, or choose another volume"],
};

/** What a failed call of the system becomes; `attempt` says what was tried, such as `writing /data/a`. */
export function directoryError(attempt: string, cause: unknown): StorageError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const [problem, cure] = meanings[code ?? ''] ?? [
    'failed',
    "The reason is the system's; look at the volume",
  ];
  return new StorageError(problem, attempt, message, cure, { cause });
}
