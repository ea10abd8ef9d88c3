/** Types of install.js, for tests. */
import type { Packed } from './pack.js';
export function installInto(
  folder: string,
  packed: readonly Packed[],
  others?: Readonly<Record<string, string>>,
): void;
