/** Result of a check. `warning`: training works but will be slow or behave unexpectedly. `problem`: training fails. */
export type Finding =
  | { level: 'ok'; found: string; measured?: Measured }
  | { level: 'warning' | 'problem'; found: string; fix: string; measured?: Measured };

/** Values for programs (`--json`). Names include units (`latencyUs`). */
export type Measured = Readonly<Record<string, unknown>>;

/** A finding and the name of its check. */
export type NamedFinding = Finding & { check: string };

export function ok(found: string, measured?: Measured): Finding {
  return { level: 'ok', found, ...(measured && { measured }) };
}

/** @param fix A command or a setting if possible. */
export function warning(found: string, fix: string, measured?: Measured): Finding {
  return { level: 'warning', found, fix, ...(measured && { measured }) };
}

/** @param fix A command or a setting if possible. */
export function problem(found: string, fix: string, measured?: Measured): Finding {
  return { level: 'problem', found, fix, ...(measured && { measured }) };
}

/** 1 if any finding is a problem. */
export function exitCodeFor(findings: readonly Finding[]): 0 | 1 {
  return findings.some(({ level }) => level === 'problem') ? 1 : 0;
}

const levelWidth = 'problem'.length;
const checkWidth = 'shared memory'.length;
const indent = ' '.repeat(levelWidth + checkWidth + 4);

/** `ok       threads        2 CPUs`, and the fix, if any, on the next line. */
export function formatFinding(finding: NamedFinding): string {
  const head = `${finding.level.padEnd(levelWidth)}  ${finding.check.padEnd(checkWidth)}  `;
  const found = `${head}${indented(finding.found)}\n`;
  return finding.level === 'ok' ? found : `${found}${indent}fix: ${indented(finding.fix)}\n`;
}

/** The last line: `1 problem, 2 warnings`. */
export function formatSummary(findings: readonly Finding[]): string {
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems + warnings === 0) return 'All checks passed.\n';
  const parts = [plural(problems, 'problem'), plural(warnings, 'warning')].filter((part) => part !== '');
  return `${parts.join(', ')}\n`;
}

function plural(count: number, what: string): string {
  return count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`;
}

function indented(text: string): string {
  return text.trimEnd().replaceAll('\n', `\n${indent}`);
}
