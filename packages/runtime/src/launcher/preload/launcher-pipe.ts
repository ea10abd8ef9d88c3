/** Names the descriptor of a pipe whose other end the launcher holds, and nobody else: it ends when the launcher does, however. */
export const launcherPipeVariable = 'RINGRUN_LAUNCHER_PIPE';

/** The first descriptor after stdin, stdout and stderr. */
export const launcherPipeDescriptor = 3;
