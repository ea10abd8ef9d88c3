import { readFileSync, renameSync, writeFileSync } from 'node:fs';

import { InvalidArgumentError, outputProblem, pathProblem } from '@ringrun/core';
import type { Links } from '@ringrun/core';
import { checkedLinks } from './checked-links.ts';

/**
 * Reads links from a JSON file.
 *
 * @param where The setting that names the file, such as `RINGRUN_LINKS`.
 * @throws InvalidArgumentError if it cannot be read, or contains something else.
 */
export function readLinksFile(path: string, where: string): Links {
  const problem = pathProblem(path, 'file');
  if (problem !== undefined) {
    throw new InvalidArgumentError(
      `${where}: expected 'measure' or a JSON file of links, got ${path}, which ${problem}.`,
    );
  }
  return checkedLinks(parse(readFileSync(path, 'utf8'), path), path);
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`${path}: expected JSON, got ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

/** Writes links as JSON, one row in a line. A reader finds the old file or the new one. */
export function writeLinksFile(path: string, links: Links): void {
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, linksText(links));
  renameSync(temporary, path);
}

/**
 * Checks that `writeLinksFile` can write to `path`.
 *
 * @param where The setting that names the file.
 * @throws InvalidArgumentError if it cannot.
 */
export function checkLinksOutput(path: string, where: string): void {
  const problem = outputProblem(path, 'file');
  if (problem !== undefined) {
    throw new InvalidArgumentError(`${where}: expected a file to write, got ${path}, which ${problem}.`);
  }
}

function linksText({ hosts, delay, bandwidth, capacity }: Links): string {
  const matrix = (rows: readonly (readonly number[])[]) =>
    `[\n${rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n')}\n  ]`;
  const fields = [
    `"hosts": ${JSON.stringify(hosts)}`,
    `"delay": ${matrix(delay)}`,
    `"bandwidth": ${matrix(bandwidth)}`,
    `"capacity": ${JSON.stringify(capacity)}`,
  ];
  return `{\n  ${fields.join(',\n  ')}\n}\n`;
}
