/**
 * Characters that a terminal does not print visibly: control characters (C0, DEL, C1), format characters (zero width,
 * bidirectional overrides), line and paragraph separators, and lone surrogates.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Characters of a text that messages show. */
const maxCharacters = 2000;

/**
 * Text from another process for a message or a log line, with escapes (`\x1b`, `\u{202e}`) in place of characters that
 * could move the cursor, change colors or hide part of the line. Longer texts are cut.
 *
 * @param max Number of characters before the cut. Default: 2,000.
 */
export function printable(text: string, max = maxCharacters): string {
  return cut(text, max).replace(unprintable, escape);
}

/** `printable` lines of a text of several lines, with spaces for tabs. */
export function printableLines(text: string): string {
  const lines = text.split('\n').map((line) => printable(line.replaceAll('\t', '    ')));
  return lines.join('\n');
}

/**
 * Parses JSON of another process that is only shown: all of its strings are `printableLines`. Values that are compared or
 * stored must stay as they are: parse them with `JSON.parse`, and escape them where they are shown.
 *
 * @throws SyntaxError if it is not JSON
 */
export function parsePrintable(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) => (typeof value === 'string' ? printableLines(value) : value));
}

/** `printable` text in double quotes, with escaped quotes and backslashes. */
export function quoted(text: string, max = 200): string {
  return `"${cut(text, max).replace(/["\\]/g, '\\$&').replace(unprintable, escape)}"`;
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

function escape(character: string): string {
  if (character === '\n') return '\\n';
  const code = character.codePointAt(0)!;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
}
