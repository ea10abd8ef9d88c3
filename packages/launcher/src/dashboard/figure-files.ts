import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parsePrintable } from '@ringrun/core';
import type { JobEvent } from '@ringrun/rendezvous/rounds';
import { checkEvents, eventsFileName } from './event-log.ts';
import { figuresFileName, parseFigures } from '../worker/rank-figures.ts';
import type { RankFigures } from '../worker/rank-figures.ts';

/** Folders below a log directory: the run, the attempt and the local rank. */
const deepest = 3;

/** Reads the figures of the files that exist. Files that are incomplete or of another kind are left out. */
export async function readFigures(paths: readonly string[]): Promise<RankFigures[]> {
  const read = paths.map(async (path) => parseFigures(await readFile(path, 'utf8').catch(() => '')));
  return (await Promise.all(read)).filter((one) => one !== undefined);
}

/** Name of the link in a launcher's temporary folder to the folder of its run below the log directory. */
export const logLinkName = 'logs';

/** The figures and events of a launcher, in its temporary folder or in its log files. */
export async function readLauncherFolder(path: string): Promise<JobRecords> {
  const isLogged = await access(join(path, logLinkName)).then(
    () => true,
    () => false,
  );
  return readLogFolder(isLogged ? join(path, logLinkName) : path).catch(() => ({ figures: [], events: [] }));
}

/** Figures and events that were read from files. */
export interface JobRecords {
  readonly figures: readonly RankFigures[];
  /** One list for each file of events. */
  readonly events: readonly (readonly JobEvent[])[];
}

/** The figures and events below a log directory, a run in it or an attempt of that run. */
export async function readLogFolder(path: string): Promise<JobRecords> {
  const files = await filesBelow(path, deepest);
  const named = (wanted: string) =>
    files.filter(({ name }) => name.endsWith(wanted)).map((file) => file.path);
  const events = await Promise.all(named(eventsFileName).map(readEvents));
  return { figures: await readFigures(named(figuresFileName)), events };
}

async function filesBelow(path: string, depth: number): Promise<{ name: string; path: string }[]> {
  const entries = await readdir(path, { withFileTypes: true });
  const found = entries.map(async (entry) => {
    const below = join(path, entry.name);
    if (entry.isFile()) return [{ name: entry.name, path: below }];
    // A run may remove its folder meanwhile.
    return entry.isDirectory() && depth > 0 ? filesBelow(below, depth - 1).catch(() => []) : [];
  });
  return (await Promise.all(found)).flat();
}

async function readEvents(path: string): Promise<JobEvent[]> {
  try {
    return checkEvents(parsePrintable(await readFile(path, 'utf8')));
  } catch {
    return [];
  }
}
