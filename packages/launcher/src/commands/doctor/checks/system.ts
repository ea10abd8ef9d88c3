import { otherSystem } from '@ringrun/native';
import { problem } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** A problem on Windows, where every other check would fail; undefined elsewhere. */
export function judgeSystem(platform: NodeJS.Platform): Finding | undefined {
  const other = otherSystem(platform);
  return other && problem(other.problem, other.fix);
}
