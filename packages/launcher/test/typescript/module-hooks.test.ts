import Module from 'node:module';
import { expect, test } from 'vitest';
import { nestsWithTsx, registerHooks } from '../../src/typescript/module-hooks.ts';

test.each([
  ['20.19.0', false],
  ['22.12.0', false],
  ['22.22.2', false],
  ['22.22.3', true],
  ['22.23.0', true],
  ['23.11.1', false],
  ['24.11.0', false],
  ['24.11.1', true],
  ['24.12.0', true],
  ['25.0.0', false],
  ['25.1.0', true],
  ['26.0.0', true],
  ['27.1.0-pre', true],
])('tsx uses registerHooks on Node.js %s: %s', (version, expected) => {
  expect(nestsWithTsx(version)).toBe(expected);
});

test('registerHooks is that of Node.js where tsx uses it', () => {
  const { registerHooks: own } = Module as unknown as { registerHooks?: unknown };
  expect(registerHooks).toBe(nestsWithTsx(process.versions.node) ? own : undefined);
});
