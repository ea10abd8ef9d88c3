import type { NcclDescription } from '@ringrun/collectives';

/** A library of NVIDIA's, as the backend nccl finds it. */
export type OpenedLibrary = NcclDescription['cuda'];

/** Why it cannot be used, and of one that could not be opened each place with the loader's reason. */
export function whyUnusable({ problem, path, attempts }: OpenedLibrary): string {
  if (path !== '') return problem;
  return `${problem} (${attempts.map(describeAttempt).join('; ')})`;
}

/** The loader's reasons begin with the file, others do not. */
function describeAttempt({ place, reason }: OpenedLibrary['attempts'][number]): string {
  return reason.startsWith(place) ? reason : `${place}: ${reason}`;
}

/**
 * @param file that the variable names, and besides which nothing is tried; undefined or empty where it is not set.
 * @param otherwise What to do where it is not.
 */
export function fixOfSearch(variable: string, file: string | undefined, otherwise: string): string {
  return file
    ? `${variable} is ${file}, and nothing else is tried: name another file there, or unset it`
    : `${otherwise}; a folder of its own belongs in LD_LIBRARY_PATH, or the file in ${variable}`;
}
