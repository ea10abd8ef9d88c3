import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from './support/environment.ts';

const read = (path: string) => readFileSync(join(repository, path), 'utf8');

/** The text of all shipped sources, comments included. */
function sources(folder: string): string {
  return readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /(^|\/)(src|lib)\/.*\.(ts|cc)$/.test(name) && !/node_modules|dist\//.test(name))
    .map((name) => read(join(folder, name)))
    .join('\n');
}

const code = `${sources('packages')}\n${sources('native')}`;

function matches(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, name]) => name))].sort();
}

test('docs/errors.md has a section for each error code, and no others', () => {
  const thrown = matches(code, /'(ERR_[A-Z0-9_]+)'/g).filter((name) => !ofNode.includes(name));
  expect(thrown.length).toBeGreaterThan(50);
  expect(matches(read('docs/errors.md'), /^### (ERR_\w+)$/gm)).toEqual(thrown);
});

/** Codes of Node's own errors that sources compare with. */
const ofNode = ['ERR_MODULE_NOT_FOUND'];

test('docs/environment.md names every variable that the sources read or set', () => {
  const documented = matches(read('docs/environment.md'), /`([A-Z][A-Z0-9_]+)`/g);
  const used = [
    // env['NAME'], environment.NAME, process.env.NAME
    ...matches(code, /\benv(?:ironment)?(?:\.|\[')([A-Z][A-Z0-9_]+)/g),
    // Objects of variables that the launcher passes to its workers, and texts with ringrun's names.
    ...matches(code, /^ {4}([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+): /gm),
    ...matches(code, /'(RINGRUN_[A-Z0-9_]+)'/g),
    // std::getenv of the addon, through a helper.
    ...matches(code, /variable\("([A-Z_]+)"\)/g),
  ];
  expect(used).toContain('MASTER_ADDR');
  expect(used).toContain('RINGRUN_NCCL_LIBRARY');
  expect(used.filter((name) => !documented.includes(name))).toEqual([]);
});

test('each variable of ringrun in docs/environment.md exists in the sources', () => {
  const documented = matches(read('docs/environment.md'), /`(RINGRUN_[A-Z0-9_]+)`/g);
  expect(documented.filter((name) => !code.includes(name))).toEqual([]);
});
