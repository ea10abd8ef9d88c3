import { expect, test } from 'vitest';
import { ignoredBy } from '../../../src/commands/deploy/dockerignore.ts';

/* docs.docker.com, "Dockerignore files"; test/deploy/image-files.test.ts compares with a builder. */
test.each<[text: string, kept: string[], ignored: string[]]>([
  [
    '*\n!a\n!b/c.js\n**/dist\na/*.log',
    ['a', 'a/b', 'b/c.js', 'a/b/x.log'],
    ['x', 'a/dist/x', 'b/d.js', 'a/x.log'],
  ],
  ['# a\n\n  b  \n/c\n./d/\ne/../f', ['a', 'e'], ['b', 'c', 'd/x', 'f']],
  ['**/*.*\n! **/*.ts', ['a', 'a.ts', 'src/a.ts'], ['a.b', 'src/a.b', '.git']],
  ['a/**\nb/**/c', ['a', 'b', 'b/d', 'x/a/b'], ['a/b', 'a/b/c', 'b/c', 'b/d/e/c', 'b/c/d']],
  ['a?c\n[0-9]x\n[^a-c]y\nd\\*', ['ac', 'a/c', 'xx', 'ay', 'dd'], ['abc', '1x', 'zy', 'd*']],
  ['a.b\nc+(d)', ['aXb', 'cc'], ['a.b', 'c+(d)']],
  ['!a\na', [], ['a', 'a/b']],
])('%j', (text, kept, ignored) => {
  const isIgnored = ignoredBy(text);
  expect([...kept, ...ignored].filter(isIgnored)).toEqual(ignored);
});
