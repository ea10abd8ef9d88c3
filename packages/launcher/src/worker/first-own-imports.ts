import { isBuiltin } from 'node:module';
import { isOwnPackage } from './own-packages-names.ts';

/** `import … from 'name'` and `import 'name'`, but not `import type`. */
const imports = /^import\b(?!\s*(?:type\s|\())(?:[^'"`;]*?\sfrom)?\s*['"]([^'"\n]+)['"]/gm;

/**
 * The packages of ringrun among the static imports of an ES module, in order, up to the first import of another module: that one
 * may change what ringrun reads when it is loaded, such as environment variables.
 */
export function firstOwnImports(source: string): string[] {
  const names = Array.from(source.matchAll(imports), ([, name]) => name).filter((name) => !isBuiltin(name));
  const firstOther = names.findIndex((name) => !isOwnPackage(name));
  return firstOther < 0 ? names : names.slice(0, firstOther);
}
