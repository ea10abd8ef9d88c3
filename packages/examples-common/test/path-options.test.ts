import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { outputFile, outputFolder, textLocation } from '../src/path-options.ts';

let root: string;
const isRoot = process.geteuid?.() === 0;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'ringrun-paths-'));
  chmodSync(root, 0o755);
  for (const name of ['folder', 'closed']) mkdirSync(join(root, name));
  for (const name of ['file', 'unreadable', 'closed/file']) writeFileSync(join(root, name), 'text');
  symlinkSync('nowhere', join(root, 'broken'));
  symlinkSync('loop', join(root, 'loop'));
  for (const name of ['unreadable', 'closed']) chmodSync(join(root, name), 0);
});

afterAll(() => {
  for (const name of ['unreadable', 'closed']) chmodSync(join(root, name), 0o700);
  rmSync(root, { recursive: true });
});

/** The error of each parser for each path; null if it accepts the path. */
const expected: Readonly<
  Record<string, Readonly<Record<'textLocation' | 'outputFolder' | 'outputFile', string | null>>>
> = {
  folder: {
    textLocation: 'a folder',
    outputFolder: 'cannot be written (EACCES)',
    outputFile: 'a folder',
  },
  file: {
    textLocation: null,
    outputFolder: 'a file',
    outputFile: 'cannot be written (EACCES)',
  },
  missing: {
    textLocation: 'does not exist',
    outputFolder: 'cannot be created: ROOT cannot be written (EACCES)',
    outputFile: 'cannot be created: ROOT cannot be written (EACCES)',
  },
  'file/below': {
    textLocation: 'cannot be read (ENOTDIR)',
    outputFolder: 'cannot be created: ROOT/file is a file',
    outputFile: 'cannot be created: ROOT/file is a file',
  },
  'file/far/below': {
    textLocation: 'cannot be read (ENOTDIR)',
    outputFolder: 'cannot be created: ROOT/file is a file',
    outputFile: 'cannot be created: ROOT/file is a file',
  },
  unreadable: {
    textLocation: 'cannot be read (EACCES)',
    outputFolder: 'a file',
    outputFile: 'cannot be written (EACCES)',
  },
  'closed/file': {
    textLocation: 'cannot be read (EACCES)',
    outputFolder: 'cannot be written (EACCES)',
    outputFile: 'cannot be written (EACCES)',
  },
  broken: {
    textLocation: 'is a link to a path that does not exist',
    outputFolder: 'cannot be created: ROOT cannot be written (EACCES)',
    outputFile: 'cannot be created: ROOT cannot be written (EACCES)',
  },
  loop: {
    textLocation: 'cannot be read (ELOOP)',
    outputFolder: 'cannot be written (ELOOP)',
    outputFile: 'cannot be written (ELOOP)',
  },
};

/** Parses in a process of a user that is not root, which may read everything. */
const program = `
const parsers = await import(process.argv[1]);
const [root, paths] = [process.argv[2], JSON.parse(process.argv[3])];
const outcome = (parse, path) => {
  try { return parse(path) === path ? null : 'changed'; } catch (error) { return /, (?:but it |got )(.*)$/.exec(error.message)[1].replace(/\\.$/, '').replaceAll(root, 'ROOT'); }
};
const names = ['textLocation', 'outputFolder', 'outputFile'];
const of = (path) => Object.fromEntries(names.map((name) => [name, outcome(parsers[name], root + '/' + path)]));
console.log(JSON.stringify(Object.fromEntries(paths.map((path) => [path, of(path)]))));`;

test('a wrong kind, a missing path and one without permission are refused, each with its reason', () => {
  const built = fileURLToPath(new URL('../dist/path-options.js', import.meta.url));
  const args = [
    '--input-type=module',
    '--eval',
    program,
    '--',
    built,
    root,
    JSON.stringify(Object.keys(expected)),
  ];
  const user = isRoot ? { uid: 65534, gid: 65534 } : {};
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', ...user });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual(expected);
});

test('writable and remote paths are accepted', () => {
  for (const path of [join(tmpdir(), 'new'), join(tmpdir(), 'new/below/it')]) {
    expect(outputFile(path)).toBe(path);
    expect(outputFolder(path)).toBe(path);
  }
  expect(outputFolder(tmpdir())).toBe(tmpdir());
  expect(() => outputFile(`${tmpdir()}/new/`)).toThrow('got a folder');
  expect(textLocation('https://example.org/text.txt')).toBe('https://example.org/text.txt');
  expect(textLocation('/dev/null')).toBe('/dev/null');
  expect(outputFolder('s3://bucket/a')).toBe('s3://bucket/a');
});
