import { ok, problem } from '../finding.ts';
import type { Finding } from '../finding.ts';

/**
 * Earlier than this release of ringrun: with such a clock, certificates are not valid and storage refuses signed
 * requests.
 */
const earliest = Date.UTC(2025, 0, 1);

export function examineClock(): Finding {
  return judgeClock(Date.now());
}

/** @param now Milliseconds since 1970. */
export function judgeClock(now: number): Finding {
  const shown = new Date(now).toISOString();
  if (now >= earliest) return ok(shown);
  return problem(
    `this machine's clock shows ${shown}`,
    'set the clock of the host (timedatectl set-ntp true): certificates and signed requests are refused otherwise',
  );
}
