/** Types of elf.js, for tests. */
export function withoutSymbols(library: Buffer): Buffer;
export function staysOpen(library: Buffer): boolean;
