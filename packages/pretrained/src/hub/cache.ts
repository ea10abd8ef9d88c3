import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/*
 * The cache of huggingface_hub (https://huggingface.co/docs/huggingface_hub/guides/manage-cache), which Python's libraries share:
 *
 *   models--org--name/refs/main              the commit of a branch or tag
 *   models--org--name/snapshots/<commit>/…   the files of a commit, links to blobs/
 */

/** Environment variables that huggingface_hub reads. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The folder of the cache: HF_HUB_CACHE, else `hub` in HF_HOME, by default ~/.cache/huggingface. */
export function cacheFolder(env: Environment): string {
  const given = env['HF_HUB_CACHE'] ?? env['HUGGINGFACE_HUB_CACHE'];
  if (given) return withHome(given);
  const home = env['HF_HOME'];
  if (home) return join(withHome(home), 'hub');
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'huggingface', 'hub');
}

/** Whether HF_HUB_OFFLINE forbids downloads. */
export function isOffline(env: Environment): boolean {
  return /^(1|on|yes|true)$/i.test(env['HF_HUB_OFFLINE'] ?? env['TRANSFORMERS_OFFLINE'] ?? '');
}

function withHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}

/** The folder of a repository in the cache. */
export function repositoryFolder(cache: string, repository: string): string {
  return join(cache, `models--${repository.replaceAll('/', '--')}`);
}

/** Full hash of a commit. */
const commit = /^[0-9a-f]{40}$/;

/**
 * The folder of a commit in the cache, which may lack files; undefined if there is none.
 *
 * @param repository such as `google-bert/bert-base-uncased`
 * @param revision branch, tag or commit
 */
export async function findSnapshot(
  cache: string,
  repository: string,
  revision: string,
): Promise<string | undefined> {
  const folder = repositoryFolder(cache, repository);
  const hash = commit.test(revision) ? revision : await textOf(join(folder, 'refs', ...revision.split('/')));
  if (hash === undefined || !commit.test(hash)) return undefined;
  const snapshot = join(folder, 'snapshots', hash);
  return (await isFolder(snapshot)) ? snapshot : undefined;
}

async function textOf(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}

/** Whether a path is a folder, or a link to one. */
export async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Whether a path is a file, or a link to one that exists. */
export async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
