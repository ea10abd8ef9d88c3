import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidArgumentError, givenLocation } from '@ringrun/core';
import { compareUtf8 } from '../../storage/names.ts';
import { isBucket, openStorage } from '../../storage/open-storage.ts';
import { StorageError } from '../../storage/storage-error.ts';
import { storedAt } from '../../storage/stored-at.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { expandBraces } from '../shards/expand-braces.ts';

/** Files, folders or patterns that a user names. */
export type TablePaths = string | URL | readonly (string | URL)[];

/** The patterns that a user has named, with their braces expanded. Looks nothing up. */
export function tablePatterns(who: string, paths: TablePaths): string[] {
  const patterns = [paths].flat().flatMap((path) => expandBraces(givenLocation(path, who)));
  if (patterns.length > 0) return patterns;
  throw new InvalidArgumentError(`${who}: expected at least one file, folder or pattern, got none.`);
}

/**
 * The files of patterns: each is a file, a folder with files of some extensions, or a pattern with `*`, `?` and `**`. In
 * the order of the patterns, and those of one pattern in the order of their names.
 *
 * @throws InvalidDataError for a pattern without files; InvalidArgumentError for a file that occurs twice
 */
export async function tableFiles(
  who: string,
  patterns: readonly string[],
  extensions: readonly string[],
): Promise<string[]> {
  const files = (await Promise.all(patterns.map((pattern) => filesOf(pattern, extensions)))).flat();
  const seen = new Set<string>();
  const twice = files.find((file) => seen.size === seen.add(file).size);
  if (twice === undefined) return files;
  throw new InvalidArgumentError(`${who}: expected each file once, got ${twice} twice. Remove one of them.`);
}

const wildcard = /[*?]/;

async function filesOf(pattern: string, extensions: readonly string[]): Promise<string[]> {
  if (wildcard.test(pattern)) return await matchesOf(pattern);
  if (!(await isFolder(pattern))) return [pattern];
  const folder = pattern.replace(/\/+$/, '');
  const isTable = (name: string) => extensions.some((extension) => name.endsWith(extension));
  const names: string[] = [];
  const below: string[] = [];
  for await (const { name, kind } of openStorage(folder).entries()) {
    if (kind !== 'object' || !isTable(name) || isHidden(name)) continue;
    (name.includes('/') ? below : names).push(name);
  }
  if (names.length > 0) return names.sort(compareUtf8).map((name) => `${folder}/${name}`);
  throw below.length === 0
    ? new InvalidDataError(pattern, `expected files ${extensions.join(', ')}, got none`, 'Check the folder.')
    : new InvalidDataError(
        pattern,
        `expected files ${extensions.join(', ')}, got ${below.length} in its folders, such as ${below.sort(compareUtf8)[0]}`,
        `Pass one of the folders, or ${join(pattern, '**')}/*${extensions[0]} for all.`,
      );
}

async function isFolder(path: string): Promise<boolean> {
  if (!isBucket(path)) {
    const found = await stat(path).catch(() => undefined);
    return found?.isDirectory() === true;
  }
  if (path.endsWith('/') || path.slice('s3://'.length).split('/').length === 1) return true;
  const { storage, name } = storedAt(path);
  const found = await storage.size(name).catch((error: unknown) => {
    if (error instanceof StorageError && error.problem === 'not found') return undefined;
    throw error;
  });
  if (found !== undefined) return false;
  for await (const entry of storage.entries(`${name}/`)) if (entry.name !== '') return true;
  return false;
}

/** Spark, pandas and others write metadata in files with such names. */
function isHidden(name: string): boolean {
  return name.split('/').some((part) => part.startsWith('.') || part.startsWith('_'));
}

/** The files that match a pattern, sorted. */
async function matchesOf(pattern: string): Promise<string[]> {
  const first = pattern.search(wildcard);
  const end = pattern.lastIndexOf('/', first);
  const root = end < 0 ? '.' : pattern.slice(0, end) || '/';
  const rest = pattern.slice(end + 1);
  const expression = globExpression(rest);
  const names: string[] = [];
  for await (const { name, kind } of openStorage(root).entries(rest.slice(0, rest.search(wildcard))))
    if (kind === 'object' && expression.test(name) && !isHidden(name)) names.push(name);
  if (names.length > 0)
    return names.sort(compareUtf8).map((name) => (end < 0 ? name : `${pattern.slice(0, end)}/${name}`));
  throw new InvalidDataError(
    pattern,
    'expected files that match the pattern, got none',
    'Check the pattern.',
  );
}

/** `*` and `?` match within a name, `**` any number of folders. */
export function globExpression(pattern: string): RegExp {
  const source = pattern.replaceAll(/\*\*\/|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (found) => {
    if (found === '**/') return '(?:.*/)?';
    if (found === '**') return '.*';
    if (found === '*') return '[^/]*';
    return found === '?' ? '[^/]' : `\\${found}`;
  });
  return new RegExp(`^${source}$`, 's');
}
