import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CommandError } from '../../../src/command-error.ts';
import { readPageAssets } from '../../../src/dashboard/page/assets.ts';
import { contentPolicyOf, pageOf } from '../../../src/dashboard/page/page.ts';
import { temporaryFolder } from '../../support/launched.ts';

const assets = readPageAssets();

test('figures cannot become markup', () => {
  const page = pageOf(JSON.stringify({ host: '</script><script>alert(1)</script>' }), assets);
  expect(page).not.toContain('<script>alert');
});

test('the policy lets the script and the style of the page pass, and nothing else', () => {
  const page = pageOf('{}', assets);
  const policy = contentPolicyOf(assets);
  expect(policy).not.toMatch(/unsafe|\*|http/);
  expect(page).not.toMatch(/(?:src|href)="https?:/);
  // As a browser hashes it: the text between the tags.
  for (const [kind, pattern] of [
    ['script', /<script>(.*?)<\/script>/gs],
    ['style', /<style>(.*?)<\/style>/gs],
  ] as const) {
    const texts = [...page.matchAll(pattern)].map(([, text]) => text);
    expect(texts).toHaveLength(1);
    const hash = createHash('sha256').update(texts[0]).digest('base64');
    expect(policy).toContain(`${kind}-src 'sha256-${hash}';`);
  }
});

test('the bundled script imports nothing', () => {
  expect(assets.script).not.toMatch(/^\s*(?:import|export)\b|\brequire\(/m);
});

test('a page that is not built names the command that builds it', () => {
  const script = pathToFileURL(join(temporaryFolder(), 'main.js'));
  expect(() => readPageAssets({ script, style: script })).toThrow(CommandError);
  expect(() => readPageAssets({ script, style: script })).toThrow(
    /^--dashboard: the page is not built: cannot read \/.*main\.js\. Run `node scripts\/bundle-page\.js`/,
  );
});
