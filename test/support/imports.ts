import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

const valueImport =
  /^(?:import|export)\s(?!type\s)[^;'"]*?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;

/** The names of modules that a TypeScript text imports, without types. */
export function importsOf(text: string): string[] {
  return [...text.matchAll(valueImport)].flatMap((match) => match.slice(1).filter(Boolean));
}

/**
 * True if a module, or a module that it reaches by relative imports, imports one of `names`.
 *
 * @param known Results of earlier calls with the same names.
 */
export function reaches(file: string, names: readonly string[], known = new Map<string, boolean>()): boolean {
  const found = known.get(file);
  if (found !== undefined) return found;
  known.set(file, false); // in a circle
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  const imports = isFile ? importsOf(readFileSync(file, 'utf8')) : [];
  const result = imports.some(
    (name) =>
      names.includes(name) || (name.startsWith('.') && reaches(join(dirname(file), name), names, known)),
  );
  known.set(file, result);
  return result;
}
