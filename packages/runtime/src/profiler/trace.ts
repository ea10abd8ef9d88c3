import type { Lane } from '@ringrun/core';
import type { Activity } from './recorder.ts';
import { withStragglers } from './stragglers.ts';

/** The recording of one rank, on rank 0's clock. */
export interface RankTrace {
  rank: number;
  host: string;
  pid: number;
  activities: readonly Activity[];
  /** Number of activities beyond the maximum. */
  dropped: number;
  /** Maximum error of its times relative to rank 0's clock, in ms. */
  clockErrorMs: number;
}

/** An event of the Trace Event format: `X`, an activity with a duration, or `M`, metadata. Times in µs. */
export type TraceEvent =
  | { ph: 'X'; pid: number; tid: number; name: string; cat: Lane; ts: number; dur: number; args?: object }
  | { ph: 'M'; pid: number; tid: number; name: string; args: Record<string, string | number> };

/** The JSON object format, which ui.perfetto.dev, chrome://tracing and speedscope.app open. */
export interface Trace {
  traceEvents: TraceEvent[];
  displayTimeUnit: 'ms';
  otherData: Record<string, string | number>;
}

/** In the order of the viewer's rows. */
const lanes: readonly Lane[] = ['step', 'input', 'compute', 'waiting', 'communication', 'function'];
/** Maximum rows per lane. More than most jobs have ranks: viewers call a thread whose number is its process's the main thread. */
const threadsPerLane = 1000;

/**
 * Builds one trace of all ranks: one process per rank, one row per lane (several if activities overlap). Time
 * 0 is the start of the first activity.
 *
 * Format: Duan and Sinclair, "Trace Event Format",
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 */
export function traceOf(ranks: readonly RankTrace[]): Trace {
  const all = withStragglers(ranks.map(({ activities }) => activities));
  const zero = earliest(all.flat());
  return {
    traceEvents: ranks.flatMap((rank, i) => [...namesOfRank(rank), ...eventsOfRank(rank.rank, all[i], zero)]),
    displayTimeUnit: 'ms',
    otherData: Object.fromEntries(ranks.flatMap(remarksOn)),
  };
}

function earliest(activities: readonly Activity[]): number {
  return activities.reduce((least, { startedAt }) => Math.min(least, startedAt), Infinity);
}

/** Viewers show a process as its name and number, such as `rank 0`. */
function namesOfRank({ rank, host, pid }: RankTrace): TraceEvent[] {
  return [
    { ph: 'M', pid: rank, tid: 0, name: 'process_name', args: { name: 'rank' } },
    { ph: 'M', pid: rank, tid: 0, name: 'process_labels', args: { labels: `${host}, pid ${pid}` } },
    { ph: 'M', pid: rank, tid: 0, name: 'process_sort_index', args: { sort_index: rank } },
  ];
}

function eventsOfRank(rank: number, activities: readonly Activity[], zero: number): TraceEvent[] {
  return lanes.flatMap((lane, place) => {
    const threads = rowsOf(activities.filter((activity) => activity.lane === lane));
    // Empty lanes are included too, so that all ranks have the same rows.
    return (threads.length > 0 ? threads : [[]]).flatMap((thread, number) => {
      const tid = (place + 1) * threadsPerLane + Math.min(number, threadsPerLane - 1);
      const name = number === 0 ? lane : `${lane} (${number + 1})`;
      return [...namesOfThread(rank, tid, name), ...thread.map((one) => eventOf(one, rank, tid, zero))];
    });
  });
}

function namesOfThread(pid: number, tid: number, name: string): TraceEvent[] {
  return [
    { ph: 'M', pid, tid, name: 'thread_name', args: { name } },
    { ph: 'M', pid, tid, name: 'thread_sort_index', args: { sort_index: tid } },
  ];
}

function eventOf(activity: Activity, pid: number, tid: number, zero: number): TraceEvent {
  const { lane, name, startedAt, endedAt, details } = activity;
  const ts = microseconds(startedAt - zero);
  const dur = microseconds(microseconds(endedAt - zero) / 1000 - ts / 1000);
  return { ph: 'X', pid, tid, name, cat: lane, ts, dur, ...(details && { args: details }) };
}

/** Rounded to nanoseconds. */
function microseconds(ms: number): number {
  return Math.round(ms * 1e6) / 1e3;
}

function remarksOn({ rank, clockErrorMs, dropped }: RankTrace): [string, string | number][] {
  const remarks: [string, string | number][] = [
    [`rank ${rank} clock error at most, µs`, microseconds(clockErrorMs)],
  ];
  if (dropped > 0) remarks.push([`rank ${rank} activities left out, too many`, dropped]);
  return remarks;
}

/**
 * Divides activities into rows for a viewer. In one row, activities must be disjoint or nested, so
 * overlapping all-reduces are put into different rows.
 *
 * @returns the rows, each sorted by time, assigned by first fit
 */
export function rowsOf(activities: readonly Activity[]): Activity[][] {
  const threads: { activities: Activity[]; open: number[] }[] = [];
  const inOrder = activities.toSorted((a, b) => a.startedAt - b.startedAt || b.endedAt - a.endedAt);
  for (const activity of inOrder) {
    let thread = threads.find(({ open }) => fits(activity, open));
    if (thread === undefined) threads.push((thread = { activities: [], open: [] }));
    thread.activities.push(activity);
    thread.open.push(activity.endedAt);
  }
  return threads.map((thread) => thread.activities);
}

/** @param open end times of the open activities, outermost first; expired ones are removed */
function fits({ startedAt, endedAt }: Activity, open: number[]): boolean {
  while (open.length > 0 && open.at(-1)! <= startedAt) open.pop();
  return open.length === 0 || endedAt <= open.at(-1)!;
}
