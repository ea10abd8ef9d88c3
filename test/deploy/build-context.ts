import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ignoredBy } from '../../packages/launcher/src/commands/deploy/dockerignore.ts';
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
