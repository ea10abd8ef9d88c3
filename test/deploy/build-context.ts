import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../support/environment.ts';

/** Files that `docker build` would send: files that Git tracks or would add, except those in .dockerignore. */
export function filesInContext(): string[] {
  const { stdout } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
    encoding: 'utf8',
  });
  const isIgnored = ignoredBy(readFileSync(join(repository, '.dockerignore'), 'utf8'));
  return stdout.split('\0').filter((path) => path !== '' && !isIgnored(path));
}

/**
 * Evaluates .dockerignore (docs.docker.com, "Dockerignore files"): a pattern excludes its matches and everything below,
 * `!` includes them again, and the last match counts. Supports the wildcards `*` and `**` only.
 */
export function ignoredBy(text: string): (path: string) => boolean {
  const rules = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ takesIn: line.startsWith('!'), pattern: expressionFor(line.replace(/^!/, '')) }));
  return (path) => rules.findLast(({ pattern }) => pattern.test(path))?.takesIn === false;
}

function expressionFor(pattern: string): RegExp {
  const source = pattern
    .split(/(\*\*\/|\*)/)
    .map((part) =>
      part === '**/' ? '(?:.*/)?' : part === '*' ? '[^/]*' : part.replace(/[.+?()[\]{}|^$\\]/g, '\\$&'),
    )
    .join('');
  return new RegExp(`^${source}(?:/|$)`);
}
