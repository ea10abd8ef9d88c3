/** Types of mach-o.js, for tests. */
export function problemsOfMachO(binary: Buffer): string[];
