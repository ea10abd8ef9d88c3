import { expect } from 'vitest';
import type { Command } from './command.ts';

/** What `ringrun doctor --json` has found in one check. */
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

/** The findings of a doctor by check, when it has ended with the exit code that they call for. */
export async function findingsOf(command: Command): Promise<Record<string, DoctorFinding>> {
  const { code, stdout, timedOut, left } = await command.ended;
  const { ok, findings } = JSON.parse(stdout) as Report;
  expect({ code, timedOut, left }).toEqual({ code: ok ? 0 : 1, timedOut: false, left: [] });
  expect(ok).toBe(findings.every(({ level }) => level !== 'problem'));
  return Object.fromEntries(findings.map((finding) => [finding.check, finding]));
}

/** `problem: what was found → the fix`, without an arrow where there is nothing to mend. */
export function words({ level, found, fix }: DoctorFinding): string {
  return fix === undefined ? `${level}: ${found}` : `${level}: ${found} → ${fix}`;
}
