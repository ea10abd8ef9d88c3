/*
 * The keys with which the processes of several nodes collect the report of a timeout, below `restart/<restart count>`,
 * which a restart deletes: the launcher of each node writes `node/<group rank>` and waits for the next `request/<n>`. The
 * rank that times out first writes it, and every launcher writes `answer/<n>/<group rank>`. That rank then writes
 * `report/<n>`, which the other nodes print.
 */

/** Name of the part of the job's store for these keys. */
export const storeOfStacks = (restartCount: number) => `restart/${restartCount}/stacks`;

export const requestKey = (number: number) => `request/${number}`;
export const answerKey = (number: number, groupRank: number | '') => `answer/${number}/${groupRank}`;
export const reportKey = (number: number) => `report/${number}`;
export const nodeKey = (groupRank: number) => `node/${groupRank}`;

/** Maximum number of reports of a job between two restarts. */
export const maxRequests = 16;

export interface StackRequest {
  /** Names the timeout: equal on all ranks that miss the same ranks. */
  id: string;
  /** Group rank of the node that collects the report. */
  from: number;
  /** Unique for each request. */
  token: string;
}

/** Checks a request of another process; undefined if it is invalid. */
export function parseRequest(written: Uint8Array): StackRequest | undefined {
  try {
    const { id, from, token } = JSON.parse(Buffer.from(written).toString()) as Record<string, unknown>;
    // Used in a file name.
    if (typeof id !== 'string' || !/^[\da-f]{16}$/.test(id)) return undefined;
    return typeof from === 'number' && typeof token === 'string' ? { id, from, token } : undefined;
  } catch {
    return undefined;
  }
}
