/**
 * Contains the descriptor of a pipe that closes when the launcher ends, by any cause: only the launcher has the other
 * end.
 */
export const launcherPipeVariable = 'RINGRUN_LAUNCHER_PIPE';

/** The first descriptor after stdin, stdout and stderr. */
export const launcherPipeDescriptor = 3;
