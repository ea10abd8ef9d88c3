/** Types of generate-numbers.js, for tests. */
export function enumeratorsOf(headerText: string, name: string): [name: string, number: number][];
export function numbersFrom(readHeader: (path: string) => string): string;
export function currentNumbers(): string;
export function committedNumbers(): string;
