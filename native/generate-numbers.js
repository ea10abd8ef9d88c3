// `generate-numbers.js [--check]`: writes the numbers that TypeScript passes to the addon to lib/generated/numbers.ts, from
// the enums of the C++ headers. --check writes nothing, and exits with 1 if the file is not current.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

const root = import.meta.dirname;
const generatedFile = 'lib/generated/numbers.ts';

/** The enums, and how TypeScript spells their enumerators. `None` is C++'s alone: JavaScript never passes it. */
const enums = [
  {
    header: 'src/base/operation.h',
    name: 'Op',
    constant: 'nativeOp',
    comment: 'Operation numbers',
    spell: lowerCamelCase,
  },
  {
    header: 'src/base/operation.h',
    name: 'ReduceOp',
    constant: 'nativeReduceOp',
    comment: 'Reduction numbers',
    spell: upperCase,
  },
  {
    header: 'src/base/operation.h',
    name: 'DType',
    constant: 'nativeDType',
    comment: 'Dtype numbers',
    spell: lowerCase,
  },
  {
    header: 'src/base/failure.h',
    name: 'FailureCode',
    constant: 'nativeFailureCode',
    comment: 'Causes of a failed operation, by the names that errors have',
    spell: upperSnakeCase,
  },
];

function lowerCase(name) {
  return name.toLowerCase();
}

function upperCase(name) {
  return name.toUpperCase();
}

function lowerCamelCase(name) {
  return name[0].toLowerCase() + name.slice(1);
}

function upperSnakeCase(name) {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
}

/** The enumerators of `enum class name`, each with its number, in the order of the header. */
export function enumeratorsOf(headerText, name) {
  const body = new RegExp(`enum class ${name} : [\\w:]+ \\{([^}]*)\\};`).exec(headerText)?.[1];
  if (body === undefined) throw new Error(`generate-numbers: the header has no enum class ${name}`);
  const lines = body
    .replaceAll(/\/\/.*/g, '')
    .split(',')
    .map((line) => line.trim());
  return lines.filter(Boolean).map((line) => {
    const [, enumerator, number] = /^(\w+) = (\d+)$/.exec(line) ?? [];
    if (number === undefined) {
      throw new Error(`generate-numbers: expected "Name = number" in enum class ${name}, got "${line}"`);
    }
    return [enumerator, Number(number)];
  });
}

/** @param readHeader returns the text of a header, by its path in this folder. */
export function numbersFrom(readHeader) {
  const constants = enums.map(({ header, name, constant, comment, spell }) => {
    const numbers = enumeratorsOf(readHeader(header), name).filter(([enumerator]) => enumerator !== 'None');
    const entries = numbers.map(([enumerator, number]) => `  ${spell(enumerator)}: ${number},\n`);
    return `/** ${comment}: ${name} of native/${header}. */\nexport const ${constant} = {\n${entries.join('')}} as const;\n`;
  });
  return `// Written by native/generate-numbers.js. Do not edit: change the headers, and run \`npm run generate\`.\n\n${constants.join('\n')}`;
}

/** The text that the generated file must have now. */
export function currentNumbers() {
  return numbersFrom((header) => readFileSync(join(root, header), 'utf8'));
}

/** The text that the generated file has. */
export function committedNumbers() {
  return readFileSync(join(root, generatedFile), 'utf8');
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (!process.argv.includes('--check')) {
    writeFileSync(join(root, generatedFile), currentNumbers());
  } else if (committedNumbers() !== currentNumbers()) {
    console.error(
      `native/${generatedFile} is not current: the enums of the headers in native/src have other numbers or names. ` +
        'Run npm run generate, and commit the file.',
    );
    process.exitCode = 1;
  }
}
