import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { describe, expect, test } from 'vitest';

import { interfaces, withSyncForms } from '../../../scripts/sync-forms.js';

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

describe.each(interfaces)('$name', ({ file, ...of }) => {
  const path = join(root, file);
  const text = readFileSync(path, 'utf8');
  const formatted = async (source: string) =>
    format(withSyncForms(source, of), { ...(await resolveConfig(path)), filepath: path });

  test('the committed Sync methods match the asynchronous methods', async () => {
    expect(await formatted(text)).toBe(text);
  });

  test('a Sync method that was deleted is written again', async () => {
    const deleted = text.replace(/\n {2}\/\*\* Blocking form of [^]*?;\n/, '\n');
    expect(deleted).not.toBe(text);
    expect(await formatted(deleted)).toBe(text);
  });

  test('a Sync method with another result is replaced', async () => {
    const changed = text.replace(/(Sync\([^)]*\)): (?:void|number);/, '$1: string;');
    expect(changed).not.toBe(text);
    expect(await formatted(changed)).toBe(text);
  });
});

test('Sync forms keep the type parameters, options and result of the asynchronous method', () => {
  const text = [
    'interface Group {',
    '  /** Sends. */',
    '  send<T>(object: T, options?: Options & { tag?: number }): Promise<T | undefined>;',
    '  start(): Work;',
    '}',
  ].join('\n');
  expect(withSyncForms(text, { name: 'Group' })).toBe(
    text.replace(
      '  start(',
      '  /** Blocking form of {@link Group.send}. */\n' +
        '  sendSync<T>(object: T, options?: Options & { tag?: number }): T | undefined;\n' +
        '  start(',
    ),
  );
});
