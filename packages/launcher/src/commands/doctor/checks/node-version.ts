import { ok, problem } from '../finding.ts';
import type { Finding } from '../finding.ts';
import { typescriptSupport } from '../../../typescript/support.ts';
import type { TypeScriptSupport } from '../../../typescript/support.ts';

/** The oldest releases on which ringrun was tested, as in `engines` of its packages. */
const oldest = { 20: 19, 22: 12 } as const;

const typescript = {
  tsx: 'runs TypeScript through tsx',
  node: 'runs TypeScript by itself (with tsx also enums and the like: npm install tsx)',
  none: 'runs JavaScript (with tsx also TypeScript: npm install tsx)',
} as const;

export function examineNode(): Finding {
  return judgeNode(process.version, typescriptSupport());
}

/** @param version Such as `v20.19.5`. */
export function judgeNode(version: string, support: TypeScriptSupport | undefined): Finding {
  const [major, minor] = (/^v(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number);
  const isSupported =
    major > 22 || (major === 22 && minor >= oldest[22]) || (major === 20 && minor >= oldest[20]);
  // Not a warning: training works as on later ones.
  const age = major === 20 ? ' (end of life since April 2026: install Node 24)' : '';
  if (isSupported) return ok(`${version}${age}, ${typescript[support ?? 'none']}`, { version });
  return problem(
    `Node ${version} is not supported`,
    `install Node 20.${oldest[20]}, 22.${oldest[22]} or later (https://nodejs.org, or the image node:24-bookworm-slim)`,
  );
}
