/** Why ringrun does not run on a system, and what to do. */
export interface OtherSystem {
  readonly problem: string;
  readonly fix: string;
}

/**
 * The problem of Windows; undefined for Linux and macOS. The addon needs what POSIX systems have: memory that processes share, Unix
 * sockets, and signals.
 *
 * @param platform Default: this process's.
 */
export function otherSystem(platform: NodeJS.Platform = process.platform): OtherSystem | undefined {
  if (platform !== 'win32') return undefined;
  return {
    problem:
      'expected Linux or macOS, got Windows, for which ringrun has no native addon: packages can be imported, as for their types, ' +
      'but no model runs, not even in one process, and no processes connect',
    fix:
      'Use WSL 2, where everything works as on Linux: run "wsl --install" in PowerShell, then install Node.js and your project ' +
      'in its shell',
  };
}

/** The problem and the fix in one text; undefined on Linux and macOS. */
export function otherSystemProblem(): string | undefined {
  const other = otherSystem();
  return other && `${other.problem}. ${other.fix}`;
}

/** Prints the problem once, when a package that needs the addon is imported. */
export function warnOfOtherSystem(): void {
  const problem = otherSystemProblem();
  if (problem !== undefined) process.emitWarning(problem, { type: 'RingrunWarning' });
}
