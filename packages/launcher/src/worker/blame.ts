/** The other ranks that an error names as its cause. */
export interface Blame {
  /**
   * Whether another failure must have preceded the error, as for the loss of a peer. Otherwise the error only shows that
   * other ranks did not do their part, as at a timeout.
   */
  isCertain: boolean;
  ranks: readonly BlamedRank[];
}

/** A rank as an error names it: with its process, or with its RANK if it never joined. */
export type BlamedRank = { host: string; pid: number } | { rank: number };

/** The process whose error it is. */
interface Self {
  host: string;
  pid: number;
}

/** Codes of errors that follow from the end of other processes, of the store or of the lease of the node. */
const followingCodes: ReadonlySet<unknown> = new Set([
  'ERR_STORE_LOST',
  'ERR_LEASE_EXPIRED',
  'ERR_RECOVERY_FAILED',
  'ERR_JOB_ENDED',
]);

/** Maximum length of a chain of causes. */
const maxDepth = 8;

/** The fields of ringrun's errors, of any copy of its classes. */
interface ErrorFields {
  code?: unknown;
  cause?: unknown;
  errors?: unknown;
  peers?: readonly Self[];
  missing?: readonly Self[];
  missingRanks?: readonly number[];
  sides?: readonly { operation: string; ranks: readonly Self[] }[];
}

/**
 * The ranks that caused `error`, itself or through its causes; undefined if the error has another reason. An
 * AggregateError blames others if all of its errors do.
 */
export function blameOf(error: unknown, self: Self, depth = 0): Blame | undefined {
  if (typeof error !== 'object' || error === null || depth > maxDepth) return undefined;
  const { code, cause, errors, peers, missing, missingRanks, sides } = error as ErrorFields;
  switch (code) {
    case 'ERR_PEER_DIED':
      return { isCertain: true, ranks: (peers ?? []).map(processOf) };
    case 'ERR_COLLECTIVE_TIMEOUT':
      return suspicion(missing ?? [], self);
    case 'ERR_COLLECTIVE_MISMATCH':
      return suspicion(deviating(sides ?? []), self);
    case 'ERR_STORE_TIMEOUT': {
      const ranks = (missingRanks ?? []).map((rank) => ({ rank }));
      return ranks.length === 0 ? undefined : { isCertain: false, ranks };
    }
  }
  if (followingCodes.has(code)) return { isCertain: true, ranks: [] };
  if (Array.isArray(errors) && errors.length > 0) return ofAll(errors, self, depth);
  return blameOf(cause, self, depth + 1);
}

function processOf({ host, pid }: Self): Self {
  return { host, pid };
}

function suspicion(ranks: readonly Self[], self: Self): Blame | undefined {
  const includesSelf = ranks.some(({ host, pid }) => host === self.host && pid === self.pid);
  if (ranks.length === 0 || includesSelf) return undefined;
  return { isCertain: false, ranks: ranks.map(processOf) };
}

/** The ranks that left while the others called an operation, or else those of the smallest side, if there is one. */
function deviating(sides: NonNullable<ErrorFields['sides']>): readonly Self[] {
  const leaving = sides.filter(({ operation }) => /^destroy\b/.test(operation));
  if (leaving.length > 0) return leaving.flatMap(({ ranks }) => ranks);
  const sizes = sides.map(({ ranks }) => ranks.length).sort((a, b) => a - b);
  return sizes.length > 1 && sizes[0] < sizes[1]
    ? sides.filter(({ ranks }) => ranks.length === sizes[0]).flatMap(({ ranks }) => ranks)
    : [];
}

function ofAll(errors: readonly unknown[], self: Self, depth: number): Blame | undefined {
  const blames = errors.map((one) => blameOf(one, self, depth + 1));
  if (!blames.every((blame) => blame !== undefined)) return undefined;
  return {
    isCertain: blames.every(({ isCertain }) => isCertain),
    ranks: blames.flatMap(({ ranks }) => ranks),
  };
}
