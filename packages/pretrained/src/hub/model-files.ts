import { join } from 'node:path';
import { InvalidArgumentError, printable } from '@ringrun/core';
import { cacheFolder, findSnapshot, isFile, isFolder, isOffline } from './cache.ts';
import { command, downloader, type Download } from './download.ts';
import { PretrainedError } from './pretrained-error.ts';

/** Where files of a model are looked up. */
export interface HubOptions {
  /** Branch, tag or commit of a model of the hub. Default: `main`. */
  revision?: string;
  /** Folder of the cache. Default: HF_HUB_CACHE, else `hub` in HF_HOME, by default `~/.cache/huggingface/hub`. */
  cacheDir?: string;
  /** If true, never downloads. Default: whether HF_HUB_OFFLINE is 1. */
  localFilesOnly?: boolean;
}

/** The files of a model. */
export interface ModelFiles {
  /** The model's name or folder, for messages. */
  readonly title: string;
  /** Path of a file, which is downloaded if necessary; undefined if the model has no such file. */
  find(file: string): Promise<string | undefined>;
  /** Path of a file. Throws a PretrainedError if the model does not have it. */
  get(file: string): Promise<string>;
  /** Path of a file, if it is on this machine. */
  findLocal(file: string): Promise<string | undefined>;
}

/** `name` or `organisation/name`. */
const repositoryName = /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9_][\w.-]*)?$/;

/** Without `..` and what a URL would interpret. */
const revisionName = /^(?!.*\.\.)[\w][\w./-]*$/;

/**
 * The files of a model in a folder, or in the cache of huggingface_hub. Files that are in the cache are not looked up on the hub.
 *
 * @param nameOrFolder a folder, or a name such as `google-bert/bert-base-uncased`
 * @throws InvalidArgumentError if it is neither; PretrainedError if the model is not in the cache and may not be downloaded
 */
export async function modelFiles(
  who: string,
  nameOrFolder: string,
  options: HubOptions,
): Promise<ModelFiles> {
  if (await isFolder(nameOrFolder)) return filesOf(nameOrFolder, async () => Promise.resolve(nameOrFolder));
  const { revision = 'main', cacheDir = cacheFolder(process.env) } = options;
  requireName(who, nameOrFolder, revision);
  const { localFilesOnly = isOffline(process.env) } = options;
  const repository = { name: nameOrFolder, revision, cacheDir };
  const snapshot = async () => await findSnapshot(cacheDir, nameOrFolder, revision);
  if (!localFilesOnly) return filesOf(nameOrFolder, snapshot, downloader(repository));
  if ((await snapshot()) === undefined) {
    throw new PretrainedError(
      `${who}: expected ${nameOrFolder} (revision ${revision}) in the cache ${cacheDir}, found none, and downloads are off (HF_HUB_OFFLINE or localFilesOnly). Run ${command(repository)} where there is a network.`,
    );
  }
  return filesOf(nameOrFolder, snapshot);
}

function filesOf(title: string, folder: () => Promise<string | undefined>, download?: Download): ModelFiles {
  const findLocal = async (file: string) => {
    const found = await folder();
    if (found === undefined) return undefined;
    const path = join(found, file);
    return (await isFile(path)) ? path : undefined;
  };
  const find = async (file: string) => (await findLocal(file)) ?? (await download?.(file));
  return {
    title,
    find,
    findLocal,
    get: async (file) => {
      const path = await find(file);
      if (path !== undefined) return path;
      throw new PretrainedError(
        `${title} has no ${file}. Pass the name or the folder of a model of Hugging Face.`,
      );
    },
  };
}

function requireName(who: string, name: string, revision: string): void {
  if (!repositoryName.test(name) || name.includes('..') || name.includes('--')) {
    throw new InvalidArgumentError(
      `${who}: expected a folder, or a name such as google-bert/bert-base-uncased, got ${printable(name, 200)}, which is neither.`,
    );
  }
  if (!revisionName.test(revision)) {
    throw new InvalidArgumentError(
      `${who}: revision: expected a branch, tag or commit, got ${printable(revision, 200)}.`,
    );
  }
}
