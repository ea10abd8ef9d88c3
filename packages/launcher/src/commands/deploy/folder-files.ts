import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { printable } from '@ringrun/core';
import { formatBytes } from '../doctor/units.ts';
import { moduleEndings } from './image-files.ts';

/** A file of a folder, with slashes in its path, relative to the folder. */
export interface FolderFile {
  readonly path: string;
  readonly bytes: number;
}

/** Data sets have millions of files; the summary is for readers. */
const maxFiles = 50_000;

const dependencies = /^(node_modules|venv|site-packages|__pycache__|\..*)$/;

/** The files of a folder, at most 50,000. Dependencies and hidden folders are left out. A link is a file. */
export function filesOf(folder: string): FolderFile[] {
  const files: FolderFile[] = [];
  const pending = [''];
  for (let at = pending.pop(); at !== undefined && files.length < maxFiles; at = pending.pop()) {
    for (const entry of entriesOf(join(folder, at))) {
      const path = at === '' ? entry.name : `${at}/${entry.name}`;
      if (!entry.isDirectory()) files.push({ path, bytes: bytesOf(join(folder, path)) });
      else if (!dependencies.test(entry.name)) pending.push(path);
    }
  }
  return files;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Without permission to read it. Docker reports such a folder.
    return [];
  }
}

function bytesOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The folders with modules of Node.js, themselves or in folders below. */
export function codeFoldersOf(files: readonly FolderFile[]): string[] {
  const folders = new Set<string>();
  for (const { path } of files) {
    if (!moduleEndings.includes(path.slice(path.lastIndexOf('.') + 1))) continue;
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth += 1) folders.add(parts.slice(0, depth).join('/'));
  }
  return [...folders];
}

/** Lines for the terminal: the files that `docker build` gets, and the files that it does not get. */
export function imageSummary(files: readonly FolderFile[], isIgnored: (path: string) => boolean): string[] {
  const sent = files.filter(({ path }) => !isIgnored(path));
  const ignored = files.filter(({ path }) => isIgnored(path));
  const bytes = sent.reduce((sum, file) => sum + file.bytes, 0);
  const count = `${sent.length} file${sent.length === 1 ? '' : 's'}`;
  return [
    `docker build gets ${count} (${formatBytes(bytes)}) of this folder: ${namesOf(sent)}`,
    ...(ignored.length === 0
      ? []
      : [
          `and not: ${namesOf(ignored)}`,
          'If the training needs one of those, mount it, or add it to .dockerignore, as in !data.',
        ]),
  ];
}

const maxNames = 12;

/** The entries of the folder that have these files: `src/ (9), train.ts`. */
function namesOf(files: readonly FolderFile[]): string {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const slash = path.indexOf('/');
    const name = slash === -1 ? path : path.slice(0, slash + 1);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const names = [...counts]
    .map(([name, count]) => printable(name) + (name.endsWith('/') ? ` (${count})` : ''))
    .sort();
  const more = names.length - maxNames;
  return more > 0 ? `${names.slice(0, maxNames).join(', ')} and ${more} more` : names.join(', ');
}
