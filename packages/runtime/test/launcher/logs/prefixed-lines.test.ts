import { describe, expect, test } from 'vitest';
import { PrefixedLines } from '../../../src/launcher/logs/prefixed-lines.ts';

/** What is shown of pieces of a stream, and what follows at its end. */
function shown(...pieces: (string | Uint8Array)[]): string {
  const lines = new PrefixedLines('[é0]:');
  const parts = pieces.map((piece) => lines.push(Buffer.from(piece)));
  return Buffer.concat([...parts, lines.end()]).toString();
}

describe('lines', () => {
  const text = 'ä line\n\nanother — €\r\nno end';
  const expected = '[é0]:ä line\n[é0]:\n[é0]:another — €\r\n[é0]:no end\n';

  test('are the same wherever the stream is cut, inside of characters too', () => {
    const bytes = Buffer.from(text);
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(shown(bytes.subarray(0, at), bytes.subarray(at))).toBe(expected);
    }
    expect(shown(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toBe(expected);
  });

  test('nothing is shown of nothing', () => {
    expect(shown('')).toBe('');
  });

  test('one without an end is shown in pieces', () => {
    const lines = new PrefixedLines('>');
    let length = 0;
    for (let i = 0; i < 64; i += 1) length += lines.push(Buffer.alloc(4096, 'x')).length;
    expect(length).toBeGreaterThan(3 * 65_536);
    expect(length + lines.end().length).toBe(64 * 4096 + 4 * '>\n'.length);
  });
});

describe('a line that comes again', () => {
  test('is counted, until another comes', () => {
    expect(shown('a\na\n', 'a\na\nb\na\n')).toBe(
      '[é0]:a\n[é0]:(the same line 3 times more)\n[é0]:b\n[é0]:a\n',
    );
  });

  test('once is shown', () => {
    expect(shown('a\na\nb\n')).toBe('[é0]:a\n[é0]:a\n[é0]:b\n');
  });

  test('is told of when nothing comes for a while, and at the end', () => {
    const lines = new PrefixedLines('>');
    expect(lines.push(Buffer.from('a\na\na\n')).toString()).toBe('>a\n');
    expect(lines.pause().toString()).toBe('>(the same line 2 times more)\n');
    expect(lines.pause().toString()).toBe('');
    expect(lines.push(Buffer.from('a\na\na')).toString()).toBe('');
    expect(lines.end().toString()).toBe('>(the same line 3 times more)\n');
  });

  test('is shown each time where it is empty', () => {
    expect(shown('\n\n\n')).toBe('[é0]:\n[é0]:\n[é0]:\n');
  });
});
