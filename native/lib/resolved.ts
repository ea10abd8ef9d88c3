import { createRequire } from 'node:module';

/** The path of a file in a package, as the module `from` (a file URL) would import it. Undefined if it is not installed. */
export function resolved(from: string, file: string): string | undefined {
  try {
    return createRequire(from).resolve(file);
  } catch {
    return undefined;
  }
}
