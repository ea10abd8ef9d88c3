import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const page = readFileSync(new URL('../docs/from-pytorch.md', import.meta.url), 'utf8');
const [, tables] = page.split('<!-- names -->');

/** Declarations of the names that the page uses. */
const declarations = `
import type { F, nn, optim, Parameter } from '@ringrun/nn';
import type * as dist from 'ringrun';
declare const x: Parameter, parameter: Parameter, module: nn.Module;
declare const optimizer: InstanceType<typeof optim.SGD>;
`;

/** Codes of the error that a generic type needs arguments, which proves that the name exists. */
const needsTypeArguments = [2314, 2707];

/** Expressions such as `x.maskedFill` in the code of the page. */
function expressions(markdown: string): string[] {
  const code = [...markdown.matchAll(/`([^`]+)`/g)].map(([, text]) => text);
  const path = /(?<![\w.'/@])(?:x|F|nn|optim|dist|module|parameter|optimizer)(?:\.[A-Za-z]\w*)+/g;
  return [...new Set(code.flatMap((text) => text.match(path) ?? []))];
}

/** The errors of the compiler for a program that names the types of these expressions. */
function compileErrors(list: readonly string[]): string[] {
  const file = fileURLToPath(new URL('torch-names.generated.ts', import.meta.url));
  // A member of dist with a capital may be a type alone, such as dist.Dataset.
  const typeOf = (path: string) => (/^dist\.[A-Z]/.test(path) ? `{ it: ${path}` : `{ it: typeof ${path}`);
  const lines = list.map((path, index) => `export type T${index} = ${typeOf(path)} };`);
  const source = [declarations, ...lines].join('\n');
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  };
  const host = ts.createCompilerHost(options);
  const original = { ...host };
  host.readFile = (path) => (path === file ? source : original.readFile(path));
  host.fileExists = (path) => path === file || original.fileExists(path);
  host.getSourceFile = (path, ...rest) =>
    path === file
      ? ts.createSourceFile(path, source, ts.ScriptTarget.ESNext)
      : original.getSourceFile(path, ...rest);
  const program = ts.createProgram([file], options, host);
  return program
    .getSemanticDiagnostics(program.getSourceFile(file))
    .filter(({ code }) => !needsTypeArguments.includes(code))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

test('every ringrun name in the tables of docs/from-pytorch.md exists in the types', () => {
  const list = expressions(tables);
  expect(list.length).toBeGreaterThan(400);
  expect(compileErrors(list)).toEqual([]);
});

test('a name that does not exist is found', () => {
  const errors = compileErrors(expressions('`x.abs`, `x.absolute()`, `nn.Lineal`, `F.cross_entropy`'));
  expect(errors).toHaveLength(3);
  expect(errors.join()).toMatch(/absolute.*Lineal.*cross_entropy/);
});
