/*
 * How the processes of a fault-tolerant job agree on their next group; pure. The job is a sequence of generations, each
 * with one group, and of transactions: steps of training, and collectives of the program. A process commits a
 * transaction after a collective that no process completes before all have the transaction's result. So the numbers of
 * commits of two processes differ by at most 1, and a process that has committed one fewer has the result.
 */

/** A process of the job. */
export interface Process {
  /** Distinguishes successive processes of the same rank. */
  readonly token: string;
  /** RANK with which it was started. */
  readonly rank: number;
  readonly host: string;
  readonly pid: number;
  /** See `processSpace`. */
  readonly space: string;
}

/** The report of a process that leaves a generation's group for the next. */
export interface Report {
  /** Number of transactions that it has committed. */
  readonly committed: number;
  /** Its next transaction: not begun, without or with a complete result; `empty`: it has not received any state. */
  readonly next: 'none' | 'incomplete' | 'complete' | 'empty';
  /** Whether its next transaction is a step of training. A new process can take part in it from its beginning. */
  readonly isStep: boolean;
}

/** The known facts about the processes of a generation. */
export interface Situation {
  readonly members: readonly Process[];
  /** By token. */
  readonly reports: ReadonlyMap<string, Report>;
  /** Processes that left at the end of their program, with their number of commits. */
  readonly left: ReadonlyMap<string, number>;
  /** Tokens of processes that have died. Ignored for processes with a report. */
  readonly dead: ReadonlySet<string>;
  /** Living processes that want to join. */
  readonly waiting: readonly Process[];
  readonly minRanks: number;
}

/** The next generation. A process whose token is in neither list has been removed. */
export interface Formation {
  readonly kind: 'form';
  /** In the order of their new ranks. */
  readonly members: readonly Process[];
  /** Tokens of the members that have no state yet. */
  readonly joining: readonly string[];
  /** Token of the member that sends them its state. */
  readonly source: string | undefined;
  /** A member that has committed fewer transactions commits its complete result; all others repeat theirs. */
  readonly committed: number;
}

export type Decision =
  | Formation
  | { readonly kind: 'fail'; readonly reason: string }
  | { readonly kind: 'wait'; readonly missing: readonly Process[] };

export function decide(situation: Situation): Decision {
  const { members, reports, left, dead, minRanks } = situation;
  const missing = members.filter(({ token }) => !reports.has(token) && !left.has(token) && !dead.has(token));
  if (missing.length > 0) return { kind: 'wait', missing };
  const reporting = members.filter(({ token }) => reports.has(token));
  const withState = reporting.filter(({ token }) => reports.get(token)!.next !== 'empty');
  if (withState.length === 0)
    return { kind: 'fail', reason: 'no surviving rank has the state of the training' };
  const own = withState.map(({ token }) => reports.get(token)!);
  const committed = committedAfter(
    own,
    members.flatMap(({ token }) => left.get(token) ?? []),
  );
  const behind = withState.find(({ token }) => !reaches(reports.get(token)!, committed));
  if (behind !== undefined) {
    return {
      kind: 'fail',
      reason: `rank ${behind.rank} is at transaction ${reports.get(behind.token)!.committed} and others at ${committed}, expected the same number of steps and collectives on every rank`,
    };
  }
  const source = withState.find(({ token }) => isBefore(reports.get(token)!, committed));
  const joining = source === undefined ? [] : newcomers(situation, reporting);
  // Rank 0 keeps its part, such as the lock of a checkpoint folder, as long as it lives.
  const next = [...withState, ...joining];
  if (next.length < minRanks) {
    return {
      kind: 'fail',
      reason: `${next.length} of the ranks are left, expected at least ${minRanks} (minRanks)`,
    };
  }
  return {
    kind: 'form',
    members: next,
    joining: joining.map(({ token }) => token),
    source: joining.length > 0 ? source?.token : undefined,
    committed,
  };
}

/** If all have the complete result of the same transaction, they commit it; otherwise it is repeated. */
function committedAfter(reports: readonly Report[], ofLeft: readonly number[]): number {
  const most = Math.max(...reports.map(({ committed }) => committed));
  const isComplete = reports.every(({ committed, next }) => committed === most && next === 'complete');
  if (isComplete) return most + 1;
  const ofAll = Math.max(most, ...ofLeft);
  return reports.every((report) => reaches(report, ofAll)) ? ofAll : most;
}

function reaches({ committed, next }: Report, target: number): boolean {
  return committed === target || (committed === target - 1 && next === 'complete');
}

/** Whether its state is the one after `committed` transactions, and the next one is a step. */
function isBefore({ committed, next, isStep }: Report, target: number): boolean {
  return committed === target && isStep && (next === 'incomplete' || next === 'complete');
}

/** The processes without state, without those whose rank another member has. */
function newcomers({ waiting, reports }: Situation, reporting: readonly Process[]): Process[] {
  const taken = new Set<number>();
  const found: Process[] = [];
  const withState = reporting.filter(({ token }) => reports.get(token)!.next !== 'empty');
  for (const { rank } of withState) taken.add(rank);
  const known = reporting.filter(({ token }) => reports.get(token)!.next === 'empty');
  for (const one of [...known, ...waiting]) {
    if (taken.has(one.rank)) continue;
    taken.add(one.rank);
    found.push(one);
  }
  return found;
}
