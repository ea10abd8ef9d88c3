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

/**
 * Growth that is no leak: 3 keys of the second replacement of each rank. Kills that leave one descriptor or key each exceed it even
 * in the short form.
 */
const allowed: Readonly<Record<string, number>> = { keys: 4, files: 2, descriptors: 2, threads: 2 };
/** Of a long soak. */
const allowedLong: Readonly<Record<string, number>> = { ...allowed, mappings: 40, MB: 25, 'heap MB': 1 };

const place = temporaryFolder();
test.skipIf(isLong)(
  `${kills} kills leave no descriptors, threads, files and keys behind`,
  { timeout: 180_000 },
  async () => {
    const courses = await ofBoth(180_000, async (job) => {
      const samples: Sample[] = [];
      while (job.kills < kills) {
        await job.killNext();
        samples.push(job.sample());
      }
      return samples.slice(warmUpKills - 1);
    });
    expectFlat(courses, allowed);
  },
);

test.runIf(isLong)(
  `${minutes} minutes with a kill every 10 s leave nothing behind`,
  { timeout: (minutes + 5) * 60_000 },
  async () => {
    const courses = await ofBoth((minutes + 4) * 60_000, async (job) => {
      const samples = await soak(job);
      const fifth = Math.floor(samples.length / 5);
      return [0, 1, 2, 3, 4].map((i) => medians(samples.slice(i * fifth, (i + 1) * fifth)));
    });
    console.log(courses.map(shown).join('\n'));
    expectFlat(courses, allowedLong);
  },
);

/** A job, and its samples after the warm-up. */
interface Course {
  job: SoakedJob;
  samples: readonly Sample[];
}

/** Runs a job of each way, both at the same time. */
async function ofBoth(
  limitMs: number,
  measure: (job: SoakedJob) => Promise<readonly Sample[]>,
): Promise<Course[]> {
  const ways: readonly Way[] = ['shrink', 'restart'];
  return await Promise.all(
    ways.map(async (way) => {
      const job = new SoakedJob(place, way, limitMs);
      await job.begin();
      const samples = await measure(job);
      await job.end();
      return { job, samples };
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

function expectFlat(courses: readonly Course[], limits: typeof allowed): void {
  const grown = courses.flatMap(({ job, samples }) =>
    Object.keys(samples[0])
      .filter((name) => {
        const limit = limits[name.replace(/^(launcher|survivor) /, '')] ?? Infinity;
        return samples.at(-1)![name] - samples[0][name] > limit;
      })
      .map((name) => `${job.way}: ${name}`),
  );
  expect(grown, courses.map(shown).join('\n')).toEqual([]);
}

function medians(samples: readonly Sample[]): Sample {
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1];
  const names = Object.keys(samples[0]);
  return Object.fromEntries(names.map((name) => [name, median(samples.map((one) => one[name]))]));
}

function shown({ job, samples }: Course): string {
  const lines = Object.keys(samples[0]).map(
    (name) => `  ${name}: ${samples.map((one) => one[name].toFixed(1)).join(' ')}`,
  );
  return [`${job.way}, ${job.kills} kills`, ...lines].join('\n');
}
