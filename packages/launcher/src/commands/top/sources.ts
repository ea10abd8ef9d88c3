import { statSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { withoutCredentials } from '@ringrun/core';
import { dashboardToken, formatHostPort, jobSecret, readSecretFile } from '@ringrun/rendezvous';
import { launcherFolders } from '../../worker/launcher-folder.ts';
import { CommandError } from '../../command-error.ts';
import { parseHostPort } from '../../options/values.ts';
import { readLauncherFolder, readLogFolder } from '../../dashboard/figure-files.ts';
import type { JobRecords } from '../../dashboard/figure-files.ts';
import { FigureAges, currentTime, newestJob } from '../../dashboard/job-figures.ts';
import type { JobFigures } from '../../dashboard/job-figures.ts';
import { viewOf } from '../../dashboard/job-view.ts';
import { defaultPlace } from '../../options/dashboard-place.ts';
import { parseStatus, statusOf } from '../../dashboard/status.ts';
import type { Status } from '../../dashboard/status.ts';
import type { TopOptions } from './options.ts';

/** A source of figures for `ringrun top`. Returns undefined before the first figures and after the job. */
export interface Source {
  /** Such as `in the folder logs`, for messages. */
  readonly where: string;
  /** The fix if no job is found. */
  readonly hint: string;
  /** @throws CommandError if the source can never be read, such as with another secret. */
  read(): Promise<Status | undefined>;
}

const requestMs = 5000;
/** Far more than the status of the maximum number of ranks on a page. */
const maxBytes = 4 * 1024 * 1024;

/** @throws CommandError if the target is neither a folder nor an address. */
export function sourceOf({ target, secretFile }: TopOptions): Source {
  if (target === undefined) return ofThisHost();
  if (statSync(target, { throwIfNoEntry: false })?.isDirectory()) return ofFolder(resolve(target));
  return ofDashboard(target, secretFile);
}

function ofFolder(folder: string): Source {
  const ages = new FigureAges();
  return {
    where: `in the folder ${folder}`,
    hint: 'Start the job with --log-dir and --redirects 3 or --tee 3',
    read: async () => {
      return toStatus(jobOf(await readLogFolder(folder), ages));
    },
  };
}

/** The launchers keep the figures in their temporary folders. */
function ofThisHost(): Source {
  const ages = new FigureAges();
  return {
    where: `of this user on ${hostname()} with TMPDIR ${tmpdir()}`,
    hint: 'Start the job with --dashboard, or pass its log directory or the URL of its dashboard',
    read: async () => {
      const found = await Promise.all(launcherFolders().map(({ path }) => readLauncherFolder(path)));
      const [figures, events] = [found.flatMap((one) => one.figures), found.flatMap((one) => one.events)];
      return toStatus(jobOf({ figures, events }, ages));
    },
  };
}

function jobOf({ figures, events }: JobRecords, ages: FigureAges): JobFigures | undefined {
  const now = currentTime();
  return newestJob(figures, events, (one) => ages.withAge(one, now));
}

function toStatus(job: JobFigures | undefined): Status | undefined {
  return job && statusOf(viewOf(job));
}

function ofDashboard(target: string, secretFile: string | undefined): Source {
  const { base, token } = addressOf(target, secretFile);
  return {
    where: `at ${base}`,
    hint: 'Start the job with --dashboard',
    read: () => readDashboard(base, token),
  };
}

function addressOf(target: string, secretFile: string | undefined): { base: string; token: string } {
  if (!/^https?:\/\//.test(target)) {
    const { host, port = defaultPlace.port } = hostPortOf(target);
    return { base: `http://${formatHostPort({ host, port })}/`, token: tokenOf(secretFile) };
  }
  const url = URL.canParse(target) ? new URL(target) : undefined;
  if (url === undefined) throw notATarget(target);
  const given = url.searchParams.get('token');
  url.search = '';
  return { base: url.href, token: given ?? tokenOf(secretFile) };
}

function hostPortOf(target: string): { host: string; port: number | undefined } {
  try {
    return parseHostPort(target);
  } catch {
    throw notATarget(target);
  }
}

function notATarget(target: string): CommandError {
  return new CommandError(
    2,
    `top: expected an existing folder, host:port or the URL of a dashboard, got ${withoutCredentials(target)}.`,
  );
}

/**
 * The token of the dashboard.
 *
 * @throws CommandError without a secret.
 */
export function tokenOf(secretFile: string | undefined): string {
  const secret = secretFile === undefined ? jobSecret() : readSecretFile(secretFile, '--secret-file');
  const token = dashboardToken(secret === undefined ? {} : { RINGRUN_SECRET: secret });
  if (token !== undefined) return token;
  throw new CommandError(
    2,
    'top: expected the secret of the job, got none. Pass the URL that the job printed, set RINGRUN_SECRET or pass --secret-file.',
  );
}

async function readDashboard(base: string, token: string): Promise<Status | undefined> {
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(new URL('status.json', base), {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(requestMs),
      redirect: 'error',
    });
    text = await limitedText(answer);
  } catch {
    return undefined;
  }
  if (answer.status === 401) {
    throw new CommandError(
      1,
      `top: the dashboard at ${base} did not accept the token. Pass the URL that the job printed, or the secret of this job.`,
    );
  }
  const status = answer.ok ? parseStatus(text) : undefined;
  // The dashboard is busy: too many requests.
  if (status !== undefined || answer.status === 429) return status;
  throw new CommandError(
    1,
    `top: expected a dashboard of ringrun at ${base}, got HTTP status ${answer.status}. Check the address.`,
  );
}

/** An answer of another program may have any length. */
async function limitedText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > maxBytes) throw new Error('the answer is too long');
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}
