import { ok, problem } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** Of the package's `engines`. */
const oldest = 20;

export function examineNode(): Finding {
  return judgeNode(
    process.version,
    Boolean((process.features as { typescript?: string | false }).typescript),
  );
}

/** @param version Such as `v20.19.5`. */
export function judgeNode(version: string, stripsTypes: boolean): Finding {
  const major = Number(/^v(\d+)/.exec(version)?.[1]);
  if (!(major >= oldest)) {
    return problem(
      `this is Node ${version}, which ringrun was not made for`,
      `install Node ${oldest} or later (https://nodejs.org, or the image node:${oldest}-bookworm-slim)`,
    );
  }
  const typescript = stripsTypes ? 'by itself' : 'through tsx';
  return ok(`${version}, runs TypeScript ${typescript}`, { version });
}
