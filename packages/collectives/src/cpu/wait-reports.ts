import { InvalidArgumentError } from '@ringrun/core';

const defaultSeconds = 5;

/**
 * Milliseconds after which an operation that waits for other ranks logs its first line to stderr. Default: 5 s;
 * RINGRUN_WAIT_REPORT_S sets it in seconds; 0 disables the lines. More lines follow after 6, 24 and 120 times as long,
 * and then every further 120 times.
 *
 * @throws InvalidArgumentError if RINGRUN_WAIT_REPORT_S is not a number of at least 0.
 */
export function waitReportsAfterMs(env: NodeJS.ProcessEnv = process.env): number {
  const given = env['RINGRUN_WAIT_REPORT_S'] ?? '';
  const seconds = given.trim() === '' ? defaultSeconds : Number(given);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
  throw new InvalidArgumentError(
    `RINGRUN_WAIT_REPORT_S is '${given}', expected seconds until a waiting operation is reported. Use a number such as 5, or 0 to disable reports.`,
  );
}
