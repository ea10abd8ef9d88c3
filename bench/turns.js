// Programs that are measured in turns, and the columns of their figures.
import { median, reasonOf, run } from './support.js';
import { shown } from './table.js';

/**
 * Runs the commands of contenders in turns, in the opposite order in every second round, and returns a row for each: the contender with
 * the `results` that its command printed as JSON, their `milliseconds` as `times`, and the `reason` of a command that failed, which
 * is not run again.
 */
export async function inTurns(contenders, rounds, args, environment) {
  const rows = contenders.map((contender) => ({ ...contender, times: [], results: [] }));
  for (let round = 0; round < rounds; round += 1) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      if (row.reason !== undefined) continue;
      const [program, ...own] = row.command;
      try {
        const output = await run(program, [...own, ...args], environment);
        // A launcher adds the rank to each line.
        const result = JSON.parse(output.slice(output.indexOf('{')));
        row.results.push(result);
        row.times.push(result.milliseconds);
      } catch (error) {
        row.reason = reasonOf(error);
      }
    }
  }
  return rows;
}

/** A column of a table: the median of a field of the `results` of a row; of `memory` in MB. */
export function medianColumn(head, field, digits) {
  const unit = field === 'memory' ? 1e6 : 1;
  return [head, ({ results }) => shown(median(results.map((result) => result[field] / unit)), digits)];
}
