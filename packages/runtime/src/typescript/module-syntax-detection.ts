/** `import` and `export` statements, but neither `import()` nor TypeScript's CommonJS forms `import x = require()` and `export =`. */
const statement = /^[ \t]*(?:import\b(?!\s*\()(?![^\n'"]*=\s*require\b)|export\b(?!\s*=))/m;

/** At the left margin, hence outside of any function. */
const topLevelAwait = /^(?:(?:export\s+)?(?:const|let|var)\s[^\n]*=\s*)?(?:await\s|for\s+await\b)/m;

/** Whether a TypeScript or JavaScript source is an ECMAScript module, as far as the beginnings of its lines tell. */
export function hasModuleSyntax(source: string): boolean {
  return statement.test(source) || topLevelAwait.test(source);
}
