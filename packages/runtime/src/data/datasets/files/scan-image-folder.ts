import { pathProblem } from '@ringrun/core';
import { compareUtf8 } from '../../../storage/names.ts';
import { isBucket, openStorage } from '../../../storage/open-storage.ts';
import type { StorageEntry } from '../../../storage/storage.ts';
import { imageExtensions } from '../../images/image-extensions.ts';
import { InvalidDataError } from '../invalid-data-error.ts';

/** The images below the folders of the classes. */
export interface ScannedImages {
  /** Sorted. */
  classes: readonly string[];
  /** Relative to the location, in the order of class, folder and name. */
  names: readonly string[];
  /** Class of each image. */
  labels: readonly number[];
  /** Entries that were found but are not used, such as `2 files that are not images (a/notes.txt, …)`. */
  skipped: readonly string[];
}

/**
 * Finds classes and images as torchvision.datasets.ImageFolder does, except that hidden folders are skipped.
 *
 * @param location a folder, or `s3://bucket/prefix`
 * @throws InvalidDataError if no class is found, or one has no images; StorageError if they cannot be listed
 */
export async function scanImageFolder(location: string): Promise<ScannedImages> {
  const problem = isBucket(location) ? undefined : pathProblem(location, 'folder');
  if (problem !== undefined) {
    const cure = 'Pass the folder that has a folder for each class';
    throw new InvalidDataError(location, `expected a folder of images, but it ${problem}`, `${cure}.`);
  }
  const found = new Set<string>();
  const names: string[] = [];
  const skipped = new Skipped();
  for await (const entry of openStorage(location).entries()) {
    const use = useOf(entry);
    if (use === 'class') found.add(entry.name);
    else if (use === 'image') {
      names.push(entry.name);
      found.add(classOf(entry.name));
    } else if (use !== 'part of one') skipped.add(use, entry.name);
  }
  const classes = [...found].sort(compareUtf8);
  names.sort(byFolder);
  const labelOf = new Map(classes.map((name, label) => [name, label]));
  const labels = names.map((name) => labelOf.get(classOf(name))!);
  requireImages(location, classes, labels, skipped);
  return { classes, names, labels, skipped: skipped.described() };
}

const reasons = {
  'hidden folder': 'in hidden folders',
  'other file': 'that are not images',
  outside: 'outside of the folders of the classes',
  'no file': 'that are sockets, pipes or devices',
  'broken link': 'that are links to paths that do not exist',
  'link to a folder above it': 'that are links to a folder above themselves',
};

type Use = 'class' | 'image' | 'part of one' | keyof typeof reasons;

function useOf({ name, kind }: StorageEntry): Use {
  const folders = name.split('/');
  if (kind !== 'folder') folders.pop();
  if (folders.some((folder) => folder.startsWith('.'))) return 'hidden folder';
  if (kind === 'folder') return folders.length === 1 ? 'class' : 'part of one';
  if (kind !== 'object') return kind;
  if (folders.length === 0) return 'outside';
  return isImage(name) ? 'image' : 'other file';
}

/** `._photo.jpg` holds metadata that macOS keeps for photo.jpg, not an image. */
function isImage(name: string): boolean {
  const file = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  return !file.startsWith('._') && imageExtensions.some((extension) => file.endsWith(extension));
}

/** Counts the entries that are not used, and keeps a few names. */
class Skipped {
  readonly #counts = new Map<keyof typeof reasons, { count: number; examples: string[] }>();

  add(reason: keyof typeof reasons, name: string): void {
    const known = this.#counts.get(reason) ?? { count: 0, examples: [] };
    known.count += 1;
    if (known.examples.length < 3) known.examples.push(name);
    this.#counts.set(reason, known);
  }

  described(): string[] {
    return [...this.#counts].map(([reason, { count, examples }]) => {
      const list = [...examples, ...(count > examples.length ? ['…'] : [])].join(', ');
      return `${count} ${count === 1 ? 'entry' : 'entries'} ${reasons[reason]} (${list})`;
    });
  }
}

function requireImages(
  location: string,
  classes: readonly string[],
  labels: readonly number[],
  skipped: Skipped,
): void {
  const found = new Set(labels);
  const empty = classes.filter((_, label) => !found.has(label));
  if (classes.length > 0 && empty.length === 0) return;
  const also = skipped.described().map((what) => `; skipped ${what}`);
  const [problem, cure] =
    classes.length === 0
      ? [
          'expected a folder for each class, got none',
          'Put the images of each class in a folder with the name of the class.',
        ]
      : [
          `expected images (${imageExtensions.join(', ')}) in the folder of each class, got none in ${someOf(empty)}`,
          'Add images, or remove the folder.',
        ];
  throw new InvalidDataError(location, `${problem}${also.join('')}`, cure);
}

function someOf(names: readonly string[]): string {
  return names.length <= 5
    ? names.join(', ')
    : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;
}

function classOf(path: string): string {
  return path.slice(0, path.indexOf('/'));
}

/** torchvision visits one folder after the other. */
function byFolder(a: string, b: string): number {
  const [first, second] = [a.lastIndexOf('/'), b.lastIndexOf('/')];
  return compareUtf8(a.slice(0, first), b.slice(0, second)) || compareUtf8(a.slice(first), b.slice(second));
}
