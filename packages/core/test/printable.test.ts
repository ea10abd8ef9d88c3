import { expect, test } from 'vitest';
import { printable, quoted } from '../src/printable.ts';

test.each([
  ['plain text, größer als 0, 数, 👍', 'plain text, größer als 0, 数, 👍'],
  ['\x1b[2J\x1b]0;title\x07', '\\x1b[2J\\x1b]0;title\\x07'],
  ['a\r\nringrun: all done\n', 'a\\x0d\\nringrun: all done\\n'],
  ['\x7f\x9b31m', '\\x7f\\x9b31m'],
  ['\u202etxt.exe\u2066\u200b\u2028\ufeff', '\\u{202e}txt.exe\\u{2066}\\u{200b}\\u{2028}\\u{feff}'],
  ['\ud800', '\\u{d800}'],
])('%j is printed with escapes', (text, expected) => {
  expect(printable(text)).toBe(expected);
});

test('long text is cut', () => {
  expect(printable('x'.repeat(3000))).toBe(`${'x'.repeat(2000)}…`);
  expect(quoted('x'.repeat(300), 3)).toBe('"xxx…"');
});

test('quoted text shows where it ends', () => {
  expect(quoted('a" is \\ \x1b')).toBe('"a\\" is \\\\ \\x1b"');
});
