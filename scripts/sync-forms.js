// `sync-forms.js [--check]`: writes the blocking form after each asynchronous method of the interfaces below, from the
// asynchronous one; --check writes nothing and exits with 1 if a form is missing or differs.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';

const root = join(import.meta.dirname, '..');

/** `methods`: all with a promise by default. */
export const interfaces = [
  { file: 'packages/core/src/collectives.ts', name: 'Collectives' },
  { file: 'packages/core/src/process-group.ts', name: 'ProcessGroup', methods: ['send', 'recv'] },
];

/** The text with the blocking forms of the interface. */
export function withSyncForms(text, { name, methods }) {
  const source = ts.createSourceFile(`${name}.ts`, text, ts.ScriptTarget.Latest, true);
  const declaration = source.statements.find(
    (statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  );
  if (declaration === undefined) throw new Error(`sync-forms: no interface ${name}`);
  const members = declaration.members.filter(ts.isMethodSignature);
  const formOf = new Map(members.map((member) => [member.name.getText(), member]));
  let result = text;
  // From the last one, so that earlier positions stay valid.
  for (const member of members.toReversed()) {
    const method = member.name.getText();
    const settled = resultOf(member);
    if (settled === undefined || (methods !== undefined && !methods.includes(method))) continue;
    const present = formOf.get(`${method}Sync`);
    if (present !== undefined) result = without(result, present);
    const types = member.typeParameters === undefined ? '' : `<${listOf(member.typeParameters)}>`;
    const form =
      `\n  /** Blocking form of {@link ${name}.${method}}. */` +
      `\n  ${method}Sync${types}(${listOf(member.parameters)}): ${settled};`;
    result = result.slice(0, member.end) + form + result.slice(member.end);
  }
  return result;
}

/** The type that a method's promise resolves with; undefined if it does not return a promise. */
function resultOf({ type }) {
  const isPromise =
    type !== undefined && ts.isTypeReferenceNode(type) && type.typeName.getText() === 'Promise';
  return isPromise ? type.typeArguments[0].getText() : undefined;
}

function listOf(nodes) {
  return nodes.map((node) => node.getText()).join(', ');
}

/** Blocking forms follow their asynchronous ones, so removing one does not move the methods before it. */
function without(text, member) {
  return text.slice(0, member.getFullStart()) + text.slice(member.end);
}

async function currentText({ file, ...of }) {
  const path = join(root, file);
  const text = readFileSync(path, 'utf8');
  const settings = await resolveConfig(path);
  return { path, text, current: await format(withSyncForms(text, of), { ...settings, filepath: path }) };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const one of interfaces) {
    const { path, text, current } = await currentText(one);
    if (text === current) continue;
    if (!process.argv.includes('--check')) {
      writeFileSync(path, current);
      continue;
    }
    console.error(
      `${one.file}: the Sync methods of ${one.name} are not those of its asynchronous methods. Run npm run generate, and commit the file.`,
    );
    process.exitCode = 1;
  }
}
