/**
 * What the nodes of a job know together: one value in the store, which each of them changes by `compareSet`. Names are those of torch's dynamic
 * rendezvous (torch.distributed.elastic.rendezvous.dynamic_rendezvous) where the meaning is.
 *
 * A node is an agent (a launcher) with its workers; a round is one start of all workers, with one numbering of the ranks.
 */
export interface RendezvousState {
  /** Counts the changes, so that no value is there twice. */
  readonly version: number;
  /** Name of this value's life: a store that was lost begins another. */
  readonly incarnation: string;
  /** RINGRUN_RUN_ID of the workers. */
  readonly runId: string;
  /** As the first node said; the others have to agree. */
  readonly terms: JobTerms;
  /** Number of the round that gathers, runs or ends, from 1. */
  readonly round: number;
  /** Highest number that any node has seen, also in a store that was lost. */
  readonly highestRound: number;
  readonly phase: Phase;
  /** In the order of their arrival while they gather, from then on in that of their group ranks. */
  readonly participants: readonly Participant[];
  /** Nodes that came while a round was running, or when all places were taken. */
  readonly waitList: readonly NodeCard[];
  /** Whether this round gathers the nodes of the last one, so that nobody else needs to be waited for. */
  readonly sameNodes: boolean;
  /** Where the workers' rank 0 may bind a port, once the node of rank 0 has looked for one. */
  readonly master: { readonly address: string; readonly port: number } | undefined;
  /** Why the round ends. */
  readonly because: EndOfRound | undefined;
  /** The earliest failure of this round that is not the consequence of another, as far as it is known. */
  readonly rootCause: RootCause | undefined;
  /** Nodes that may still run a round of a store that was lost, as far as those who are here know of it. */
  readonly mayStillRun: readonly string[];
  /** Rounds whose ranks were given since this state began. */
  readonly roundsBegun: number;
  readonly restartsUsed: number;
  /** Of the last round, where it failed at its start: see restart-policy.ts. */
  readonly lastStartUpFailure: string | undefined;
  readonly verdict: Verdict | undefined;
  /** Those that may not take part, until they have read why. */
  readonly refused: readonly Refusal[];
  /** What happened, the newest last. */
  readonly events: readonly JobEvent[];
}

/**
 * `joining`: nodes gather. `running`: ranks are given, workers run. `ending`: every node stops its workers, and says so. `closed`: the job is over.
 */
export type Phase = 'joining' | 'running' | 'ending' | 'closed';

/** What the nodes of a job have to agree on. */
export interface JobTerms {
  /** --rdzv-id; torch's is `none` unless given. */
  readonly id: string;
  readonly backend: 'static' | 'c10d';
  readonly min: number;
  readonly max: number;
  readonly maxRestarts: number;
}

/** What a node says about itself. */
export interface NodeCard {
  /** No other node has it, nor this one when it is started again. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** What other nodes reach it by. */
  readonly address: string;
  /** Workers that it starts. */
  readonly processesPerNode: number;
  /** --node-rank; only the static rendezvous looks at it. */
  readonly nodeRank: number | undefined;
  /** The same text for nodes that reach each other by loopback. */
  readonly machine: string;
  /** Whether the store ends with it. */
  readonly hostsStore: boolean;
}

export interface Participant {
  readonly card: NodeCard;
  /** Its rank in the round before, if it was there. */
  readonly previousRank: number | undefined;
  /** How its workers ended; undefined while any may run. */
  readonly report: WorkersEnd | undefined;
  /** Undefined while it takes part. `died`: for the length of a lease there was no sign of life. */
  readonly gone: 'died' | 'left' | undefined;
}

/** `stopped`: because the round ended. */
export type WorkersEnd = 'finished' | 'failed' | 'stopped';

/** `by` is the node's name for people. Only a failure uses up a restart. */
export interface EndOfRound {
  readonly kind: 'failed' | 'died' | 'left' | 'joined' | 'cut off';
  readonly by: string;
}

/** Why the workers of a round failed. */
export interface RootCause {
  /** Whether another failure must have come before it: the loss of a peer, for one. */
  readonly isConsequence: boolean;
  /** Exit code of the launcher. */
  readonly exitCode: number;
  /** In a few words: the rank, its host, and what became of it. */
  readonly headline: string;
  /** Lines for people; the last one names rank and host. */
  readonly text: string;
  /** Equal for equal failures at the start of the workers; undefined when it was no start-up, or nothing tells two failures apart. */
  readonly startUpFingerprint: string | undefined;
}

export type Verdict =
  | { readonly kind: 'finished' }
  | { readonly kind: 'failed'; readonly reason: string; readonly rootCause: RootCause | undefined };

export interface Refusal {
  readonly id: string;
  readonly why: string;
}

export interface JobEvent {
  /** Milliseconds since the epoch, on the clock of the node that wrote it. */
  readonly at: number;
  readonly what: string;
}

/** More events than this are not kept, nor refusals of nodes that never come back to read them. */
const mostEvents = 100;
const mostRefused = 16;

/** A change of the state, and what people are told of it. */
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
    refused: next.refused.slice(-mostRefused),
    events: [...state.events, ...events].slice(-mostEvents),
  };
}

export function encodeState(state: RendezvousState): string {
  return JSON.stringify(state);
}

/** Undefined for the empty value that the store has for a missing key. */
export function decodeState(bytes: Uint8Array): RendezvousState | undefined {
  return bytes.length === 0
    ? undefined
    : (JSON.parse(Buffer.from(bytes).toString('utf8')) as RendezvousState);
}

/** The participants, of which the one with this id is changed. */
export function withChange(
  participants: readonly Participant[],
  id: string,
  change: Partial<Participant>,
): Participant[] {
  return participants.map((other) => (other.card.id === id ? { ...other, ...change } : other));
}

/** `node host1 (pid 17)`, or `node 1 (host1, pid 17)` where it was told its rank. */
export function nameOf({ host, pid, nodeRank }: NodeCard): string {
  return nodeRank === undefined ? `node ${host} (pid ${pid})` : `node ${nodeRank} (${host}, pid ${pid})`;
}

export function namesOf(cards: readonly NodeCard[]): string {
  return cards.map(nameOf).join(', ');
}
