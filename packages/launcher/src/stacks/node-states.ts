import { formatRanks, printable } from '@ringrun/core';
import { checkState, describeStates } from './rank-state.ts';
import type { RankState } from './rank-state.ts';

/** How reports name a node of the job. */
export interface NodeName {
  host: string;
  launcherPid: number;
  firstRank: number;
  ranks: number;
}

/** A node of the job when a report was collected. */
export interface NodeStates {
  groupRank: number;
  /** Undefined if its launcher has not written it to the store. */
  name: NodeName | undefined;
  /** Undefined if it did not answer. */
  states: readonly RankState[] | undefined;
}

/** Maximum bytes of one rank and of all ranks of a node, as JSON. */
const maxRankBytes = 4096;
const maxNodeBytes = 64 * 1024;

const maxHostCharacters = 255;

/** A node's answer, without the outer frames of long stacks. */
export function encodeStates(states: readonly RankState[]): string {
  const maxStateBytes = Math.min(
    maxRankBytes,
    Math.floor((maxNodeBytes - 2) / Math.max(1, states.length)) - 1,
  );
  // The ids of runs are long, and reports of a job do not show them.
  return JSON.stringify(states.map((state) => shortened({ ...state, runId: '' }, maxStateBytes)));
}

function shortened(state: RankState, maxBytes: number): RankState {
  for (let frames = state.stack.length; ; frames -= 1) {
    const isCut = frames < state.stack.length;
    const short = isCut ? { ...state, stack: [...state.stack.slice(0, frames), '…'] } : state;
    if (Buffer.byteLength(JSON.stringify(short)) <= maxBytes) return short;
    if (frames === 0) return { ...state, stack: [], operations: [] };
  }
}

/** Checks the answer of another host; undefined if it is invalid. */
export function parseStates(answer: Uint8Array): RankState[] | undefined {
  if (answer.byteLength > maxNodeBytes) return undefined;
  const states = parse(answer);
  if (!Array.isArray(states)) return undefined;
  return states.map(checkState).filter((state) => state !== undefined);
}

/** Checks the name that another host has written; undefined if it is invalid. */
export function parseName(written: Uint8Array): NodeName | undefined {
  const { host, launcherPid, firstRank, ranks } = Object(parse(written)) as Record<string, unknown>;
  if (typeof host !== 'string' || ![launcherPid, firstRank, ranks].every(Number.isSafeInteger))
    return undefined;
  return {
    host: printable(host, maxHostCharacters),
    launcherPid: Number(launcherPid),
    firstRank: Number(firstRank),
    ranks: Number(ranks),
  };
}

function parse(json: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(json).toString());
  } catch {
    return undefined;
  }
}

/** Describes a node, with one line for each rank and one for each frame of its stack. */
export function describeNode(
  { groupRank, name, states }: NodeStates,
  missing: readonly { host: string; pid: number }[],
): string {
  const host = name?.host ?? 'unknown';
  if (states === undefined) return describeSilent(groupRank, name);
  const node = `node ${groupRank} (host ${host})`;
  if (states.length === 0) return `No rank on ${node} answers: the launcher has not started a script.\n`;
  const missingPids = new Set(missing.filter((one) => one.host === host).map(({ pid }) => pid));
  return `The ranks on ${node}:\n${describeStates(states, missingPids)}`;
}

function describeSilent(groupRank: number, name: NodeName | undefined): string {
  if (!name)
    return `Node ${groupRank} does not answer: its launcher is stopped or does not reach the store.\n`;
  const ranks = formatRanks(Array.from({ length: name.ranks }, (_, i) => name.firstRank + i));
  return (
    `Node ${groupRank} (host ${name.host}, ${ranks}) does not answer: its launcher (pid ${name.launcherPid}) is stopped or does not reach the store. ` +
    `Run "ringrun stacks ${name.launcherPid}" on that host.\n`
  );
}
