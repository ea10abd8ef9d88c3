/**
 * Evaluates a .dockerignore file as Docker's builder does (docs.docker.com, "Dockerignore files"): a pattern excludes its
 * matches and everything below them, `!` includes them again, and the last line that matches counts.
 *
 * @returns whether the file at a path, relative to the folder and with slashes, stays out of the image
 */
export function ignoredBy(text: string): (path: string) => boolean {
  const rules = text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, exception, pattern] = /^(!?)\s*(.*)$/.exec(line.trim())!;
      return { includes: exception === '!', expression: expressionOf(cleanPath(pattern)) };
    });
  return (path) => rules.findLast(({ expression }) => expression.test(path))?.includes === false;
}

/** A pattern that matches this path only. */
export function escapedPattern(path: string): string {
  return path.replaceAll(/[*?[\]\\]/g, '\\$&');
}

/** As Go's filepath.Clean, for a path relative to the folder. */
function cleanPath(pattern: string): string {
  const parts: string[] = [];
  for (const part of pattern.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** `**` matches any number of folders, `*` and `?` characters of one name, `[…]` one character of a class. */
function expressionOf(pattern: string): RegExp {
  const source = pattern.replaceAll(
    /\*\*\/?|\*|\?|\[\^?[^\]]*\]|\\.|[\\^$.()|+{}[\]]/g,
    (token) => wildcards[token] ?? (token.startsWith('[') && token.length > 1 ? token : `\\${token.at(-1)!}`),
  );
  return new RegExp(`^${source}(?:/|$)`, 'u');
}

const wildcards: Readonly<Record<string, string>> = {
  '**/': '(?:.*/)?',
  '**': '.*',
  '*': '[^/]*',
  '?': '[^/]',
};
