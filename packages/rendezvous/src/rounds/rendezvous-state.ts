import { printable } from '@ringrun/core';
import type { FailureKind } from './failure-kind.ts';

/**
 * The shared state of a job. The node that serves the store has the whole of it, and alone changes it; every other node
 * reads the part that concerns it (part.ts). If the meaning is the same, names are those of torch's dynamic rendezvous
 * (torch.distributed.elastic.rendezvous.dynamic_rendezvous).
 *
 * A node is a launcher with its workers. A round is one start of all workers, with one assignment of ranks.
 */
export interface RendezvousState {
  /** Undefined for the whole state. */
  readonly part?: Part | undefined;
  /** Number of changes, so that no two values are equal. */
  readonly version: number;
  /** Unique name, different for a new store after a loss. */
  readonly incarnation: string;
  /** RINGRUN_RUN_ID of the workers. */
  readonly runId: string;
  /** Terms of the first node; the other nodes must have the same. */
  readonly terms: JobTerms;
  /** Number of the current round, from 1. */
  readonly round: number;
  /** Highest round number that any node has read, including in a lost store. */
  readonly highestRound: number;
  readonly phase: Phase;
  /** In the order of their arrival in the phase `joining`, then in the order of their group ranks. */
  readonly participants: readonly Participant[];
  /** Nodes that arrived while a round was running, or after max nodes had joined. */
  readonly waitList: readonly NodeInfo[];
  /** Whether all nodes of the last round have joined, so that no last call is needed. */
  readonly sameNodes: boolean;
  /** MASTER_ADDR and MASTER_PORT of the workers; undefined until the node of rank 0 has found a port. */
  readonly master: { readonly address: string; readonly port: number } | undefined;
  /** Why the round ends. */
  readonly because: EndReason | undefined;
  /** The known failure of this round that explains the others: see `firstCause`. */
  readonly rootCause: RootCause | undefined;
  /** Rounds of lost stores that nodes may still run, as known to the participants. */
  readonly mayStillRun: readonly LostRound[];
  /** Number of rounds whose ranks were assigned in this incarnation. */
  readonly roundsBegun: number;
  readonly restartsUsed: number;
  /** Fingerprint of the last round's failure, if it failed during start-up: see restart-policy.ts. */
  readonly lastStartUpFailure: string | undefined;
  /** Number of rounds in a row that failed soon after their start, and the delay of the next: see restart-backoff.ts. */
  readonly quickFailures: number;
  readonly delayMs: number;
  readonly verdict: Verdict | undefined;
  /** Refused nodes, each until it has read the reason. */
  readonly refused: readonly Refusal[];
  /** The log of the job, newest event last. */
  readonly events: readonly JobEvent[];
}

/**
 * `joining`: nodes join. `running`: ranks are assigned, workers run. `ending`: every node stops its workers and reports
 * their end. `closed`: the job is over.
 */
export type Phase = 'joining' | 'running' | 'ending' | 'closed';

/** What one node knows of all nodes, beside the entries of its own in the lists of its part of the state. */
export interface Part {
  /** Number of participants, possibly an older one while they join. */
  readonly nodes: number;
  /** Of this node; undefined without a rank. */
  readonly groupRank: number | undefined;
  /** Pairs of a number of workers and the number of nodes with it that follow each other, by group rank. */
  readonly processesPerNode: readonly (readonly [processes: number, nodes: number])[];
  /** Group ranks that do not run the round any more, as far as this node must know: see `lostRounds`. */
  readonly ended: readonly number[];
  /** Completes the sentence "waiting for …". */
  readonly waitsFor: string;
  /** How this node's part in the job ends. */
  readonly end: NodeEnd | undefined;
}

/** A round whose store was lost. */
export interface LostRound {
  readonly incarnation: string;
  readonly round: number;
  readonly nodes: number;
  /** Group ranks of nodes that do not run it any more. */
  readonly ended: readonly number[];
}

/** The options that must be equal on all nodes of a job. */
export interface JobTerms {
  /** --rdzv-id. Default: `none`, as torch. */
  readonly id: string;
  readonly backend: 'static' | 'c10d';
  readonly min: number;
  readonly max: number;
  readonly maxRestarts: number;
}

/** The properties that a node publishes about itself. */
export interface NodeInfo {
  /** Unique, different for a restarted node. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Address at which other nodes reach this one. */
  readonly address: string;
  /** Number of its workers. */
  readonly processesPerNode: number;
  /** --node-rank; used by the static rendezvous only. */
  readonly nodeRank: number | undefined;
  /** Identity of the machine: equal for nodes that reach each other over loopback. */
  readonly machine: string;
  /** Whether this node serves the store, which ends with it. */
  readonly hostsStore: boolean;
}

export interface Participant {
  readonly node: NodeInfo;
  /** Its rank in the previous round, if it was a participant. */
  readonly previousRank: number | undefined;
  /** The rounds of lost stores in which it had a rank. It runs them no more. */
  readonly formerly: readonly FormerRank[];
  /** How its workers ended; undefined while any may run. */
  readonly report: WorkersEnd | undefined;
  /** Undefined while the node participates. `died`: no heartbeat for the length of a lease. */
  readonly gone: 'died' | 'left' | undefined;
}

/** A rank of a node in a round whose store was lost. */
export interface FormerRank {
  readonly incarnation: string;
  readonly round: number;
  readonly groupRank: number;
}

/** `stopped`: by the launcher, because the round ended. */
export type WorkersEnd = 'finished' | 'failed' | 'stopped';

/** `by`: name of the node, for messages. Only `failed` uses a restart. */
export interface EndReason {
  readonly kind: 'failed' | 'died' | 'left' | 'joined' | 'cut off';
  readonly by: string;
}

/** Why the workers of a round failed. */
export interface RootCause {
  readonly kind: FailureKind;
  /** Exit code of the launcher. */
  readonly exitCode: number;
  /** One line with the rank, its host and how it ended. */
  readonly headline: string;
  /** The failure report; its last line names rank and host. */
  readonly text: string;
  /** Equal for equal start-up failures; undefined for later failures, and for those without an error record. */
  readonly startUpFingerprint: string | undefined;
  /** Set if the workers saved a checkpoint after SIGTERM on any rank, and then ended. */
  readonly isPreemption?: true;
}

export type Verdict =
  | { readonly kind: 'finished' }
  | { readonly kind: 'failed'; readonly reason: string; readonly rootCause: RootCause | undefined };

/** How a node's part in a job ends. */
export type NodeEnd =
  | Verdict
  | { readonly kind: 'left'; readonly why: string }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'timed out'; readonly why: string };

export interface Refusal {
  readonly id: string;
  readonly why: string;
}

export interface JobEvent {
  /** Milliseconds since the epoch, on the clock of the node that wrote it. */
  readonly at: number;
  readonly what: string;
}

/** Limits of the lists in the state. Older entries are dropped: a refused node may never read its refusal. */
const maxEvents = 100;
const maxRefused = 16;

/** Nodes that a message names. */
export const maxNames = 16;

/** A change of the state. */
export type Change = Partial<Omit<RendezvousState, 'version' | 'incarnation' | 'events'>>;

export function changed(
  state: RendezvousState,
  change: Change,
  events: readonly JobEvent[],
): RendezvousState {
  const next = { ...state, ...change };
  return {
    ...next,
    version: state.version + 1,
    refused: next.refused.slice(-maxRefused),
    events: [...state.events, ...events].slice(-maxEvents),
  };
}

export function isSame(one: RendezvousState | undefined, other: RendezvousState | undefined): boolean {
  return one?.incarnation === other?.incarnation && one?.version === other?.version;
}

/** The number of participants. */
export function countOf({ part, participants }: RendezvousState): number {
  return part?.nodes ?? participants.length;
}

/** Returns `node host1 (pid 17)`, or `node 1 (host1, pid 17)` for a node with --node-rank. */
export function nameOf({ host, pid, nodeRank }: NodeInfo): string {
  const name = printable(host);
  return nodeRank === undefined ? `node ${name} (pid ${pid})` : `node ${nodeRank} (${name}, pid ${pid})`;
}

/** The names of the first nodes, and the number of the others. */
export function namesOf(nodes: readonly NodeInfo[]): string {
  const names = nodes.slice(0, maxNames).map(nameOf).join(', ');
  return nodes.length <= maxNames ? names : `${names} and ${nodes.length - maxNames} more`;
}
