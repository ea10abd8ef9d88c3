import { describe, expect, test } from 'vitest';
import { PrefixedLines } from '../../src/logs/prefixed-lines.ts';

/** Returns the output for these chunks of a stream and its end. */
function shown(...pieces: (string | Uint8Array)[]): string {
  const lines = new PrefixedLines('[é0]:');
  const parts = pieces.map((piece) => lines.push(Buffer.from(piece)));
  return Buffer.concat([...parts, lines.end()]).toString();
}

describe('lines', () => {
  const text = 'ä line\n\nanother — €\r\nno end';
  const expected = '[é0]:ä line\n[é0]:\n[é0]:another — €\r\n[é0]:no end\n';

  test('are the same wherever the stream is split, even inside a character', () => {
    const bytes = Buffer.from(text);
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(shown(bytes.subarray(0, at), bytes.subarray(at))).toBe(expected);
    }
    expect(shown(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toBe(expected);
  });

  test('an empty stream prints nothing', () => {
    expect(shown('')).toBe('');
  });

  test('a long line without a line break is printed in pieces', () => {
    const lines = new PrefixedLines('>');
    let length = 0;
    for (let i = 0; i < 64; i += 1) length += lines.push(Buffer.alloc(4096, 'x')).length;
    expect(length).toBeGreaterThan(3 * 65_536);
    expect(length + lines.end().length).toBe(64 * 4096 + 4 * '>\n'.length);
  });
});

describe('a repeated line', () => {
  test('is counted until another line arrives', () => {
    expect(shown('a\na\n', 'a\na\nb\na\n')).toBe('[é0]:a\n[é0]:(repeated 3 more times)\n[é0]:b\n[é0]:a\n');
  });

  test('is printed if it is repeated once', () => {
    expect(shown('a\na\nb\n')).toBe('[é0]:a\n[é0]:a\n[é0]:b\n');
  });

  test('is reported on a pause and at the end', () => {
    const lines = new PrefixedLines('>');
    expect(lines.push(Buffer.from('a\na\na\n')).toString()).toBe('>a\n');
    expect(lines.pause().toString()).toBe('>(repeated 2 more times)\n');
    expect(lines.pause().toString()).toBe('');
    expect(lines.push(Buffer.from('a\na\na')).toString()).toBe('');
    expect(lines.end().toString()).toBe('>(repeated 3 more times)\n');
  });

  test('is printed each time if it is empty', () => {
    expect(shown('\n\n\n')).toBe('[é0]:\n[é0]:\n[é0]:\n');
  });
});
