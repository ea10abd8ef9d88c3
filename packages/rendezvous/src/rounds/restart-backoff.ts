/** Delays before restarts of workers that repeatedly fail soon after their start. */
export interface RestartBackoff {
  /** Milliseconds before the second restart in a row; the first is immediate, and each further delay is doubled. */
  readonly firstMs: number;
  /** Maximum delay in milliseconds. */
  readonly maxMs: number;
  /** Workers that ran for this many milliseconds were healthy: the next restart is immediate again. */
  readonly healthyMs: number;
}

export const defaultRestartBackoff: RestartBackoff = { firstMs: 1000, maxMs: 60_000, healthyMs: 60_000 };

/** Milliseconds to wait after `quickFailures` rounds in a row that failed before they were healthy. */
export function delayBeforeRestart(
  quickFailures: number,
  { firstMs, maxMs }: Pick<RestartBackoff, 'firstMs' | 'maxMs'>,
): number {
  return quickFailures < 2 ? 0 : Math.min(maxMs, firstMs * 2 ** (quickFailures - 2));
}

/**
 * Reads the settings from the environment.
 *
 * @throws Error with the variable and its value if one is not a number of seconds.
 */
export function restartBackoffOf(env: NodeJS.ProcessEnv): RestartBackoff {
  const { firstMs, maxMs, healthyMs } = defaultRestartBackoff;
  return {
    firstMs: milliseconds('RINGRUN_RESTART_BACKOFF', env['RINGRUN_RESTART_BACKOFF'], firstMs),
    maxMs: milliseconds('RINGRUN_RESTART_BACKOFF_MAX', env['RINGRUN_RESTART_BACKOFF_MAX'], maxMs),
    healthyMs: milliseconds('RINGRUN_HEALTHY_AFTER', env['RINGRUN_HEALTHY_AFTER'], healthyMs),
  };
}

function milliseconds(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined || text.trim() === '') return otherwise;
  const seconds = Number(text);
  if (seconds >= 0 && seconds <= 86_400) return seconds * 1000;
  throw new Error(
    `The settings of restarts are invalid: expected ${name} in seconds, from 0 to 86,400, got ${JSON.stringify(text)}. Correct or unset it.`,
  );
}
