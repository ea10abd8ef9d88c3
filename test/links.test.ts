import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { pageOf, type Page } from './support/docs/markdown.ts';
import { markdownPages } from './support/docs/pages.ts';
import { repository } from './support/environment.ts';

const pages = new Map(markdownPages().map((page) => [page.path, page]));

/** Problems of the links of a page. */
function deadLinks({ path, links }: Page): string[] {
  return links.flatMap(({ line, target }) => {
    if (/^(https?|mailto):/.test(target)) return [];
    const [file, anchor] = target.split('#') as [string, string?];
    const linked = file === '' ? path : normalize(join(dirname(path), file));
    const where = `${path}:${line}: ${target}`;
    if (!existsSync(join(repository, linked))) return [`${where}: no such file`];
    if (isIgnored(linked)) return [`${where}: not in the repository`];
    if (anchor === undefined) return [];
    if (statSync(join(repository, linked)).isDirectory()) return [`${where}: a folder has no anchors`];
    const { anchors } = pages.get(linked) ?? pageOf(linked, readFileSync(join(repository, linked), 'utf8'));
    return anchors.has(anchor) ? [] : [`${where}: no such heading`];
  });
}

const tracked = new Set(
  execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: repository, encoding: 'utf8' }).split(
    '\n',
  ),
);
const isIgnored = (path: string) =>
  ![...tracked].some((one) => one === path || one.startsWith(`${path.replace(/\/$/, '')}/`));

test('every link in the Markdown files has an existing file and heading', () => {
  expect(pages.size).toBeGreaterThan(35);
  expect([...pages.values()].flatMap(({ links }) => links).length).toBeGreaterThan(100);
  expect([...pages.values()].flatMap(deadLinks)).toEqual([]);
});

test('dead links and anchors are found, but not in code', () => {
  const text =
    '# A *b* `c`\n\n[x](no.md) [y](#a-b-c) [z](#nowhere)\n`[not](a-link.md)`\n\n```ts\n[1](2)\n```\n';
  const page = pageOf('README.md', text);
  expect([...page.anchors]).toEqual(['a-b-c']);
  pages.set('README.md', page);
  expect(deadLinks(page)).toEqual([
    'README.md:3: no.md: no such file',
    'README.md:3: #nowhere: no such heading',
  ]);
});
