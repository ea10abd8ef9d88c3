import { rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { namesIn } from '../host/host-files.ts';
import { figuresFileName } from '../worker/rank-figures.ts';
import { rankOfSocket, stackSocketName } from '../stacks/stack-socket.ts';

/*
 * The workers' files in the launcher's temporary folder: error records, with marks and exit records beside them whose names
 * begin with theirs, figures, and sockets. A killed worker leaves them behind, so the launcher removes them: a job may be
 * restarted any number of times.
 */

/** The error record of the first worker of a local rank in a round. */
export function recordFile(folder: string, restartCount: number, localRank: number): string {
  return join(folder, `restart-${restartCount}-local-rank-${localRank}.json`);
}

/** The error record of a worker that replaces one of the same round. No name begins with that of another one. */
export function replacementFile(errorFile: string, replacement: number): string {
  const first = basename(errorFile, '.json').replace(/-replacement-\d+$/, '');
  return join(dirname(errorFile), `${first}-replacement-${replacement}.json`);
}

export function figuresFile(folder: string, restartCount: number, localRank: number): string {
  return join(folder, `restart-${restartCount}-local-rank-${localRank}-${figuresFileName}`);
}

/** Removes the error record of an ended worker and the files beside it. */
export function removeRecords(errorFile: string): void {
  const record = basename(errorFile);
  removeFrom(dirname(errorFile), (name) => name === record || name.startsWith(`${record}.`));
}

/** Removes the socket of an ended worker. */
export function removeSocket(folder: string, rank: number, pid: number): void {
  removeFrom(folder, (name) => name === stackSocketName(rank, pid));
}

/** Removes the files of the rounds before the last one. Call it while no worker runs. */
export function removeOldRounds(folder: string, restartCount: number): void {
  removeFrom(folder, (name) => {
    const round = /^restart-(\d+)-local-rank-/.exec(name)?.[1];
    return rankOfSocket(name) !== undefined || (round !== undefined && Number(round) < restartCount - 1);
  });
}

/** Ignores errors: the launcher removes the folder at its end. */
function removeFrom(folder: string, isOld: (name: string) => boolean): void {
  for (const name of namesIn(folder).filter(isOld)) {
    try {
      rmSync(join(folder, name), { force: true });
    } catch {
      // See above.
    }
  }
}
