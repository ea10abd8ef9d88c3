import { ok, problem } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** Before this version of ringrun: no certificate of today is valid then, and storage refuses what is signed with such a date. */
const earliest = Date.UTC(2025, 0, 1);

export function examineClock(): Finding {
  return judgeClock(Date.now());
}

/** @param now Milliseconds since 1970. */
export function judgeClock(now: number): Finding {
  const shown = new Date(now).toISOString();
  if (now >= earliest) return ok(shown);
  return problem(
    `it is ${shown}, says this machine's clock`,
    'set the clock of the host (timedatectl set-ntp true): certificates and signed requests are refused otherwise',
  );
}
