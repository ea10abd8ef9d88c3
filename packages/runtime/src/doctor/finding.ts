/** What a check has come to: nothing to do, something that will be slow or surprising, or something that training fails of. */
export type Finding =
  | { level: 'ok'; found: string; measured?: Measured }
  | { level: 'warning' | 'problem'; found: string; fix: string; measured?: Measured };

/** Numbers and names behind the words, for programs; units are in the names (`latencyUs`). */
export type Measured = Readonly<Record<string, unknown>>;

/** A finding, and the check that made it. */
export type NamedFinding = Finding & { check: string };

export function ok(found: string, measured?: Measured): Finding {
  return { level: 'ok', found, ...(measured && { measured }) };
}

/** @param fix What to do about it, as a command or a setting where there is one. */
export function warning(found: string, fix: string, measured?: Measured): Finding {
  return { level: 'warning', found, fix, ...(measured && { measured }) };
}

/** @param fix What to do about it, as a command or a setting where there is one. */
export function problem(found: string, fix: string, measured?: Measured): Finding {
  return { level: 'problem', found, fix, ...(measured && { measured }) };
}

/** 1 when something has to be mended before training can work. */
export function exitCodeFor(findings: readonly Finding[]): 0 | 1 {
  return findings.some(({ level }) => level === 'problem') ? 1 : 0;
}
