import { expect } from 'vitest';
import type { Command } from './command.ts';

/** One finding of `ringrun doctor --json`. */
export interface DoctorFinding {
  check: string;
  level: 'ok' | 'warning' | 'problem';
  found: string;
  fix?: string;
  measured?: Record<string, unknown>;
}

interface Report {
  ok: boolean;
  findings: DoctorFinding[];
}

/** The findings of a doctor by check; rejects if its exit code does not match them. */
export async function findingsOf(command: Command): Promise<Record<string, DoctorFinding>> {
  const { code, stdout, timedOut, left } = await command.ended;
  const { ok, findings } = JSON.parse(stdout) as Report;
  expect({ code, timedOut, left }).toEqual({ code: ok ? 0 : 1, timedOut: false, left: [] });
  expect(ok).toBe(findings.every(({ level }) => level !== 'problem'));
  return Object.fromEntries(findings.map((finding) => [finding.check, finding]));
}

/** `problem: finding → fix`, without the arrow if there is no fix. */
export function words({ level, found, fix }: DoctorFinding): string {
  return fix === undefined ? `${level}: ${found}` : `${level}: ${found} → ${fix}`;
}
