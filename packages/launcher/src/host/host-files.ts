import { readdirSync, readFileSync } from 'node:fs';

/** The text of a file; empty if it cannot be read. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Names in a folder; empty if it does not exist, or if another process has removed it meanwhile. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
