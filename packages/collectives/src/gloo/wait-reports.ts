import { InvalidArgumentError } from '../errors.ts';

const defaultSeconds = 5;

/**
 * Milliseconds after which an operation that waits for other ranks writes its first line on stderr: 5 s, or RINGRUN_WAIT_REPORT_S seconds. More lines follow
 * after 6, 24 and 120 times as long, and after every further 120 times. 0: no lines.
 *
 * @throws InvalidArgumentError for anything but a number of seconds that is 0 or more
 */
export function waitReportsAfterMs(env: NodeJS.ProcessEnv = process.env): number {
  const given = env['RINGRUN_WAIT_REPORT_S'] ?? '';
  const seconds = given.trim() === '' ? defaultSeconds : Number(given);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
  throw new InvalidArgumentError(
    `RINGRUN_WAIT_REPORT_S is '${given}', expected the seconds after which an operation that waits is reported. Use a number such as 5, or 0 for no reports.`,
  );
}
