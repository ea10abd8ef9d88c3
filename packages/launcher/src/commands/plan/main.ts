// `ringrun plan`: predicts the time of a training step on given links.
import { linksOf } from './links.ts';
import { parsePlanOptions } from './options.ts';
import type { PlanOptions } from './options.ts';
import { predict } from './prediction.ts';
import { formatPlan } from './table.ts';

/**
 * Runs the command and returns the exit code, 0.
 *
 * @throws CommanderError for arguments that cannot work, CommandError for a file that cannot.
 */
export function runPlan(argv: readonly string[]): number {
  const options = parsePlanOptions(argv);
  const links = linksOf(options);
  const predictions = predict(links, options);
  process.stdout.write(
    options.json
      ? `${JSON.stringify(reportOf(options, predictions), null, 2)}\n`
      : formatPlan(links, options, predictions),
  );
  return 0;
}

/** The output of `--json`. */
function reportOf(options: PlanOptions, predictions: ReturnType<typeof predict>) {
  const { ranksPerNode, modelBytes, stepSeconds, bucketBytes } = options;
  return { ranksPerNode, modelBytes, computationSeconds: stepSeconds, bucketBytes, ways: predictions };
}
