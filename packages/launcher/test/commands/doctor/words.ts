import type { Finding } from '../../../src/commands/doctor/finding.ts';

/** `problem: found → fix`, or `ok: found`. */
export function words(finding: Finding): string {
  return finding.level === 'ok'
    ? `ok: ${finding.found}`
    : `${finding.level}: ${finding.found} → ${finding.fix}`;
}
