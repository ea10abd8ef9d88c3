import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { SoakedJob } from './support/soaked-job.ts';
import type { Sample, Way } from './support/soaked-job.ts';

/** `npm run test:soak`. */
const isLong = process.env['RINGRUN_SOAK'] === 'full';
const minutes = Number(process.env['RINGRUN_SOAK_MINUTES'] ?? 30);
const warmUpMinutes = Math.min(2, minutes / 4);
const killEveryMs = 10_000;
const sampleEveryMs = 2500;

const kills = 6;
const warmUpKills = 2;

/** Growth that is no leak. Kills that leave one descriptor each exceed it even in the short form. */
const allowed: Readonly<Record<string, number>> = { keys: 3, files: 3, descriptors: 2, threads: 2 };
/** Of a long soak. */
const allowedLong: Readonly<Record<string, number>> = { ...allowed, mappings: 40, MB: 25, 'heap MB': 1 };

const place = temporaryFolder();
test.skipIf(isLong)(
  `${kills} kills leave no descriptors, threads, files and keys behind`,
  { timeout: 180_000 },
  async () => {
    const changes = await ofBoth(180_000, async (job) => {
      const samples: Sample[] = [];
      while (job.kills < kills) {
        await job.killNext();
        samples.push(job.sample());
      }
      return [samples[warmUpKills - 1], samples.at(-1)!];
    });
    expectFlat(changes, allowed);
  },
);

test.runIf(isLong)(
  `${minutes} minutes with a kill every 10 s leave nothing behind`,
  { timeout: (minutes + 5) * 60_000 },
  async () => {
    const changes = await ofBoth((minutes + 4) * 60_000, async (job) => {
      const samples = await soak(job);
      const fifth = Math.floor(samples.length / 5);
      return [medians(samples.slice(0, fifth)), medians(samples.slice(-fifth))];
    });
    console.log(changes.map(shown).join('\n'));
    expectFlat(changes, allowedLong);
  },
);

/** A job, and what it occupied early and late. */
interface Change {
  job: SoakedJob;
  first: Sample;
  last: Sample;
}

/** Runs a job of each way, both at the same time. */
async function ofBoth(
  limitMs: number,
  measure: (job: SoakedJob) => Promise<[first: Sample, last: Sample]>,
): Promise<Change[]> {
  const ways: readonly Way[] = ['shrink', 'restart'];
  return await Promise.all(
    ways.map(async (way) => {
      const job = new SoakedJob(place, way, limitMs);
      await job.begin();
      const [first, last] = await measure(job);
      await job.end();
      return { job, first, last };
    }),
  );
}

/** Returns the samples after the warm-up. */
async function soak(job: SoakedJob): Promise<Sample[]> {
  const samples: Sample[] = [];
  const begunAt = performance.now();
  const passedMs = () => performance.now() - begunAt;
  for (let nextKill = killEveryMs; nextKill < minutes * 60_000;) {
    await delay(Math.min(sampleEveryMs, Math.max(0, nextKill - passedMs())));
    if (passedMs() > warmUpMinutes * 60_000) samples.push(job.sample());
    if (passedMs() < nextKill) continue;
    nextKill = passedMs() + killEveryMs;
    await job.killNext();
  }
  return samples;
}

function expectFlat(changes: readonly Change[], limits: typeof allowed): void {
  const grown = changes.flatMap(({ job, first, last }) =>
    Object.keys(first).flatMap((name) => {
      const limit = limits[name.replace(/^(launcher|survivor) /, '')] ?? Infinity;
      return last[name] - first[name] > limit ? [`${job.way}: ${name}`] : [];
    }),
  );
  expect(grown, changes.map(shown).join('\n')).toEqual([]);
}

function medians(samples: readonly Sample[]): Sample {
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1];
  const names = Object.keys(samples[0]);
  return Object.fromEntries(names.map((name) => [name, median(samples.map((one) => one[name]))]));
}

function shown({ job, first, last }: Change): string {
  const lines = Object.keys(first).map(
    (name) => `  ${name}: ${first[name].toFixed(1)} to ${last[name].toFixed(1)}`,
  );
  return [`${job.way}, ${job.kills} kills`, ...lines].join('\n');
}
