import type { JobFigures } from './job-figures.ts';
import { viewOf } from './job-view.ts';
import { lastOf } from './scalars.ts';
import { stepBounds } from '../worker/rank-figures.ts';

/** Content type of the text format. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

type Labels = Readonly<Record<string, string | number>>;
type Sample = readonly [name: string, labels: Labels, value: number];

/** The figures of a job in Prometheus's text format 0.0.4. */
export function metricsOf(job: JobFigures): string {
  const view = viewOf(job);
  const perRank = job.ranks.map((figures, i) => ({
    figures,
    view: view.ranks[i],
    labels: { rank: figures.rank, host: figures.host },
  }));
  const ofRanks = (valueOf: (one: (typeof perRank)[number]) => number | undefined) => (name: string) =>
    perRank.flatMap((one): Sample[] => {
      const value = valueOf(one);
      return value === undefined ? [] : [[name, one.labels, value]];
    });
  const alone =
    (value: number | undefined) =>
    (name: string): Sample[] =>
      value === undefined ? [] : [[name, {}, value]];
  const info = (name: string): Sample[] => [[name, { run_id: job.runId, unit: view.unit }, 1]];
  const isUp = [
    ...perRank.map(({ labels, view: { state } }): Sample => [
      'ringrun_rank_up',
      labels,
      Number(state !== 'silent'),
    ]),
    ...view.missing.map((rank): Sample => ['ringrun_rank_up', { rank, host: '' }, 0]),
  ];
  return [
    family('ringrun_job_info', 'gauge', 'The job. unit is the name of a sample.', info),
    family('ringrun_world_size', 'gauge', 'Number of ranks.', alone(job.worldSize)),
    family('ringrun_restarts_total', 'counter', 'Restarts of all workers.', alone(job.restartCount)),
    family(
      'ringrun_rank_up',
      'gauge',
      '1 if the rank publishes figures or has ended, 0 if it is silent.',
      () => isUp,
    ),
    family('ringrun_epoch', 'gauge', 'Current epoch, from 1.', alone(view.progress?.epoch)),
    family(
      'ringrun_loss',
      'gauge',
      "Loss of the rank's last batch.",
      ofRanks(({ figures }) => figures.progress?.loss),
    ),
    family('ringrun_learning_rate', 'gauge', 'Learning rate.', alone(view.learningRate)),
    family('ringrun_scalar', 'gauge', 'Last value of a scalar that the script reports.', (name) =>
      perRank.flatMap(({ figures, labels }) =>
        (figures.scalars ?? []).map((scalar): Sample => [
          name,
          { ...labels, name: scalar.name },
          lastOf(scalar).value ?? NaN,
        ]),
      ),
    ),
    family(
      'ringrun_steps_total',
      'counter',
      'Steps since the process started.',
      ofRanks(({ figures }) => figures.total.steps),
    ),
    family(
      'ringrun_samples_total',
      'counter',
      'Samples of the rank since the process started.',
      ofRanks(({ figures }) => (figures.progress === undefined ? undefined : figures.total.samples)),
    ),
    family(
      'ringrun_training_seconds_total',
      'counter',
      'Time within epochs.',
      ofRanks(({ figures }) => figures.total.seconds),
    ),
    family(
      'ringrun_input_seconds_total',
      'counter',
      'Time that the loop waited for its next batch.',
      ofRanks(({ figures }) => figures.total.input),
    ),
    family(
      'ringrun_compute_seconds_total',
      'counter',
      'Time in which programs ran.',
      ofRanks(({ figures }) => figures.total.compute),
    ),
    family(
      'ringrun_waiting_seconds_total',
      'counter',
      'Time that steps waited for other ranks.',
      ofRanks(({ figures }) => figures.total.waiting),
    ),
    family('ringrun_step_seconds', 'histogram', 'Time of a step.', (name) =>
      perRank.flatMap(({ figures, labels }) =>
        histogram(name, labels, figures.stepCounts, figures.stepSeconds),
      ),
    ),
  ].join('');
}

/** Empty without samples: an empty family is valid but useless. */
function family(
  name: string,
  type: 'gauge' | 'counter' | 'histogram',
  help: string,
  samplesOf: (name: string) => readonly Sample[],
): string {
  const samples = samplesOf(name);
  if (samples.length === 0) return '';
  const lines = samples.map(
    ([sample, labels, value]) => `${sample}${formatLabels(labels)} ${formatValue(value)}`,
  );
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
}

/** Buckets are cumulative. */
function histogram(name: string, labels: Labels, counts: readonly number[], sum: number): Sample[] {
  let count = 0;
  const buckets = counts.map((inBucket, i): Sample => {
    count += inBucket;
    const le = i < stepBounds.length ? String(stepBounds[i]) : '+Inf';
    return [`${name}_bucket`, { ...labels, le }, count];
  });
  return [...buckets, [`${name}_sum`, labels, sum], [`${name}_count`, labels, count]];
}

function formatLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

function escapeLabel(text: string): string {
  return text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n');
}

function formatValue(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : '-Inf';
}
