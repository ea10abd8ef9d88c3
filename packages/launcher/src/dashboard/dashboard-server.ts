import { once } from 'node:events';
import { hostname } from 'node:os';
import { Worker } from 'node:worker_threads';
import { openFilesProblem } from '@ringrun/core';
import { describePortOwner, findPortOwner, formatHostPort } from '@ringrun/rendezvous';
import { CommandError } from '../command-error.ts';
import type { JobFigures } from './job-figures.ts';
import type { DashboardPlace } from '../options/dashboard-place.ts';
import { readPageAssets } from './page/assets.ts';
import type { ServerThreadData, ServerThreadReport } from './server-thread.ts';

/** Heap of the thread. The figures of 10,000 ranks take a tenth of it. */
const maxMegabytes = 128;

/** The thread that serves the page. If it ends for any reason, the job continues. */
export class DashboardServer {
  readonly #thread: Worker;
  readonly #ended: Promise<unknown>;
  /** Address of the page, with the token. */
  readonly url: string;

  private constructor(thread: Worker, url: string) {
    this.#thread = thread;
    this.#ended = new Promise((resolve) => thread.once('exit', resolve));
    this.url = url;
  }

  /** @throws CommandError if the place cannot be bound, or if the page is not built. */
  static async listen(place: DashboardPlace, token: string): Promise<DashboardServer> {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const workerData: ServerThreadData = { place, token, assets: readPageAssets() };
    const thread = new Worker(new URL(`./server-thread.${extension}`, import.meta.url), {
      workerData,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
      // The compiled file needs no loader of the program.
      ...(extension === 'js' ? { execArgv: [] } : {}),
    });
    const [report] = (await once(thread, 'message')) as [ServerThreadReport];
    if ('code' in report) throw await refusal(place, report);
    thread.unref();
    thread.on('error', (error) => {
      process.stderr.write(`ringrun: the dashboard stopped, but the job continues: ${error.message}\n`);
    });
    const isAny = place.host === '0.0.0.0' || place.host === '::';
    const address = formatHostPort({ host: isAny ? hostname() : place.host, port: report.port });
    return new DashboardServer(thread, `http://${address}/?token=${token}`);
  }

  show(job: JobFigures): void {
    this.#thread.postMessage(job);
  }

  /** Frees the port. */
  async close(): Promise<void> {
    this.#thread.ref();
    this.#thread.postMessage('end');
    await this.#ended;
  }
}

async function refusal(
  place: DashboardPlace,
  { code, message }: Extract<ServerThreadReport, { code: string }>,
): Promise<CommandError> {
  const where = formatHostPort(place);
  if (code === 'EADDRINUSE') {
    const owner = describePortOwner(await findPortOwner(place.port));
    return new CommandError(
      1,
      `--dashboard: ${where} is in use by ${owner}. Pass another port, as in --dashboard=${formatHostPort({ ...place, port: place.port + 1 })}.`,
    );
  }
  const shortage = openFilesProblem(Object.assign(new Error(message), { code }));
  if (shortage !== undefined)
    return new CommandError(1, `--dashboard: cannot listen at ${where}: ${shortage}.`);
  return new CommandError(
    1,
    `--dashboard: cannot listen at ${where}: ${message}. Pass an address of this host, or --dashboard alone for 127.0.0.1.`,
  );
}
