import type { NativeLibraryDescription } from '@ringrun/native';

/** An NVIDIA library, as training finds it. */
export type OpenedLibrary = NativeLibraryDescription;

/** Why the library cannot be used. If it could not be opened: each path tried, with the loader's error. */
export function whyUnusable({ problem, path, attempts }: OpenedLibrary): string {
  if (path !== '') return problem;
  return `${problem} (${attempts.map(describeAttempt).join('; ')})`;
}

/** Errors of the loader begin with the file, other errors do not. */
function describeAttempt({ place, reason }: OpenedLibrary['attempts'][number]): string {
  return reason.startsWith(place) ? reason : `${place}: ${reason}`;
}

/**
 * @param file Value of the variable, which disables the search. Undefined or empty: not set.
 * @param otherwise The fix if the variable is not set.
 */
export function fixOfSearch(variable: string, file: string | undefined, otherwise: string): string {
  return file
    ? `${variable} is ${file}, so no other path is searched: set it to another file, or unset it`
    : `${otherwise}; if the library is in another folder, add that folder to LD_LIBRARY_PATH or set ${variable} to the file`;
}
