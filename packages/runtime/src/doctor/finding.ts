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
