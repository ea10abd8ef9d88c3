import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../environment.ts';
import { pageOf, type Page } from './markdown.ts';

/** All Markdown files of the repository. */
export function markdownPages(): Page[] {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
    cwd: repository,
    encoding: 'utf8',
  });
  return files
    .split('\n')
    .filter((path) => path !== '')
    .map((path) => pageOf(path, readFileSync(join(repository, path), 'utf8')));
}
