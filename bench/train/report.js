// Figures that bench:train computes from the reports of its ranks. Pure.
import { mean, median, percentile } from '../support.js';

/** Figures of one round of a row, by rank. Times are in ms, and per step unless they are a step's own time. */
export function roundOf(reports, { communicates }) {
  const waits = communicates ? waitsOf(reports) : reports.map(() => 0);
  return reports.map((report, rank) => {
    const steps = report.startedAt.length;
    const times = report.startedAt.map((start, i) => (report.endedAt[i] - start) / 1e6);
    const own = {
      meanMs: mean(times),
      medianMs: median(times),
      p95Ms: percentile(times, 95),
      processorMs: report.processorMs / steps,
      minorFaults: report.minorFaults / steps,
      majorFaults: report.majorFaults / steps,
      memoryBytes: report.memory,
    };
    if (report.runs === undefined) return own;
    const perStep = (ofRun) => report.runs.reduce((sum, run) => sum + ofRun(run), 0) / steps / 1e6;
    const kernelMs = perStep(([start, end]) => end - start);
    const otherMs = own.meanMs - kernelMs - waits[rank];
    return {
      ...own,
      kernelMs,
      waitMs: waits[rank],
      otherMs,
      otherShare: otherMs / own.meanMs,
      otherProcessorMs: own.processorMs - perStep(([, , processor]) => processor),
      collections: report.collections / steps,
      majorCollections: report.majorCollections / steps,
      collectionMs: report.collectionMs / steps,
    };
  });
}

/**
 * Mean ms per step that each rank waits between two runs of onnxruntime: from the end of its last run before the update
 * until the slowest rank has reached that point. All ranks read one clock. A wait inside a run counts as the run. The steps
 * of one row may have different numbers of runs: a compiled step of `verifyEvery` has two.
 */
function waitsOf(reports) {
  const ends = reports.map(endsBeforeUpdate);
  const waitIn = (step, end) => {
    const all = ends.map((ofRank) => ofRank[step]);
    return all.includes(undefined) ? 0 : Math.max(...all) - end;
  };
  return ends.map((own) => mean(own.map((end, step) => waitIn(step, end))) / 1e6);
}

/** For each step; undefined if it is a single run, or if the runs are unknown. */
function endsBeforeUpdate({ startedAt, endedAt, runs = [] }) {
  let next = 0;
  return startedAt.map((_, step) => {
    const first = next;
    while (next < runs.length && runs[next][0] < endedAt[step]) next += 1;
    return runs.slice(first, next).at(-2)?.[1];
  });
}

/** A row: medians over the rounds, of the mean of the ranks and of each rank. Memory is the largest. */
export function rowOf(rounds) {
  const names = Object.keys(rounds[0][0]);
  const figures = (ranksOf) =>
    Object.fromEntries(
      names.map((name) => [
        name,
        median(rounds.map((ranks) => mean(ranksOf(ranks).map((one) => one[name])))),
      ]),
    );
  return {
    ...figures((ranks) => ranks),
    memoryBytes: Math.max(...rounds.flat().map(({ memoryBytes }) => memoryBytes)),
    ranks: rounds[0].map((_, rank) => figures((ranks) => [ranks[rank]])),
  };
}

/** How many times as fast `rounds` are as `others`: the median over the rounds of the ratio of median steps. */
export function speedRatio(rounds, others) {
  const step = (ranks) => mean(ranks.map(({ medianMs }) => medianMs));
  return median(rounds.map((ranks, i) => step(others[i]) / step(ranks)));
}
