import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMissingPackage, RingrunError } from '@ringrun/core';
import { repositoryFolder } from './cache.ts';
import { PretrainedError } from './pretrained-error.ts';

/** Downloads a file of a repository into the cache, and returns its path; undefined if the repository has no such file. */
export type Download = (file: string) => Promise<string | undefined>;

/** What to download from. */
export interface Repository {
  /** Such as `google-bert/bert-base-uncased`. */
  name: string;
  /** Branch, tag or commit. */
  revision: string;
  /** Folder of the cache. */
  cacheDir: string;
}

const library = '@huggingface/hub';

/** Downloads by the package `@huggingface/hub`, with the token of HF_TOKEN and the server of HF_ENDPOINT. */
export function downloader(repository: Repository): Download {
  const { HF_TOKEN: accessToken, HF_ENDPOINT: hubUrl } = process.env;
  const access = { ...(hubUrl && { hubUrl }), ...(accessToken && { accessToken }) };
  let commit: Promise<string> | undefined;
  return async (path) => {
    const { downloadFileToCacheDir, modelInfo } = await hub(repository);
    const { name, revision, cacheDir } = repository;
    try {
      commit ??= modelInfo({ name, revision, additionalFields: ['sha'], ...access }).then(({ sha }) => sha);
      // By its commit: of a branch, the library would give each file the commit that changed it last, in different folders.
      const hash = await commit;
      const file = await downloadFileToCacheDir({ repo: name, path, revision: hash, cacheDir, ...access });
      await rememberCommit(repository, hash);
      return file;
    } catch (error) {
      if ((error as Error).message.startsWith('cannot get path info')) return undefined;
      throw notDownloaded(repository, path, error as Error);
    }
  };
}

/** Writes the commit of a branch or tag, which Python's libraries look up. */
async function rememberCommit({ name, revision, cacheDir }: Repository, commit: string): Promise<void> {
  if (revision === commit) return;
  const file = join(repositoryFolder(cacheDir, name), 'refs', ...revision.split('/'));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, commit);
}

async function hub(repository: Repository): Promise<typeof import('@huggingface/hub')> {
  try {
    return await import('@huggingface/hub');
  } catch (error) {
    if (!isMissingPackage(error, library)) throw error;
    throw new RingrunError(
      'ERR_PACKAGE_MISSING',
      `fromPretrained: ${repository.name} is not in the cache, and ${library}, which downloads it, is not installed. ` +
        `Run npm install ${library}, or ${command(repository)}.`,
      { cause: error },
    );
  }
}

/** The command that downloads a model, of Python's huggingface_hub. */
export function command({ name, revision }: Pick<Repository, 'name' | 'revision'>): string {
  return `hf download ${name}${revision === 'main' ? '' : ` --revision ${revision}`}`;
}

function notDownloaded({ name, revision }: Repository, path: string, cause: Error): PretrainedError {
  const { statusCode } = cause as { statusCode?: number };
  const advice =
    statusCode === 401 || statusCode === 403
      ? `Check the name, or set HF_TOKEN to a token that may read it.`
      : `Check the name, the revision ${revision} and the network.`;
  return new PretrainedError(
    `fromPretrained: ${path} of ${name} was not downloaded: ${cause.message}. ${advice}`,
    { cause },
  );
}
