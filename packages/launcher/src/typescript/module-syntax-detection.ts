/**
 * `import` and `export` statements, but not `import()`, `import x = require()` or `export =` (TypeScript's CommonJS).
 */
const statement = /^[ \t]*(?:import\b(?!\s*\()(?![^\n'"]*=\s*require\b)|export\b(?!\s*=))/m;

/** Without indentation, so outside any function. */
const topLevelAwait = /^(?:(?:export\s+)?(?:const|let|var)\s[^\n]*=\s*)?(?:await\s|for\s+await\b)/m;

/** Whether a TypeScript or JavaScript source is an ECMAScript module, judged by the start of its lines. */
export function hasModuleSyntax(source: string): boolean {
  return statement.test(source) || topLevelAwait.test(source);
}
