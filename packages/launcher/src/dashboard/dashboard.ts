import { randomBytes } from 'node:crypto';
import type { Store } from '@ringrun/core';
import { dashboardToken, jobSecret } from '@ringrun/rendezvous';
import { worldSizeOf } from '@ringrun/rendezvous/rounds';
import type { Round } from '@ringrun/rendezvous/rounds';
import { CommandError } from '../command-error.ts';
import { DashboardServer } from './dashboard-server.ts';
import type { EventLog } from './event-log.ts';
import { readFigures } from './figure-files.ts';
import { FigureAges, byRank, currentTime } from './job-figures.ts';
import type { AgedFigures } from './job-figures.ts';
import { FiguresReader, sendFigures } from './node-exchange.ts';
import { refusalOf } from '../options/dashboard-place.ts';
import type { DashboardPlace } from '../options/dashboard-place.ts';

/** Milliseconds between two collections of figures. */
const collectEveryMs = 1000;

/** What a dashboard shows of the job itself. */
export interface ShownJob {
  /** Title of the page. */
  readonly name: string;
  readonly events: EventLog;
}

/** The sources of this node's figures in one round. */
export interface RoundFigures {
  readonly round: Round;
  /** The figures files of this node's workers. */
  readonly files: readonly string[];
  /** The store of the job; undefined without a connection, and in a job of one node. */
  readonly currentStore: () => Store | undefined;
}

/**
 * This node's part of the dashboard: one launcher serves the page, and the launchers of the other nodes send it the figures
 * of their ranks. Failures never reach the job.
 */
export class Dashboard {
  readonly #server: DashboardServer | undefined;
  readonly #events: EventLog;
  readonly #name: string;
  readonly #ticker: NodeJS.Timeout;
  #current: (RoundFigures & { reader: FiguresReader; ages: FigureAges }) | undefined;
  #isCollecting = false;

  private constructor(server: DashboardServer | undefined, { name, events }: ShownJob) {
    this.#server = server;
    this.#events = events;
    this.#name = name;
    this.#ticker = setInterval(() => void this.#collect(), collectEveryMs).unref();
  }

  /**
   * Serves the page, and prints its URL.
   *
   * @throws CommandError if the place is refused or cannot be bound.
   */
  static async serve(place: DashboardPlace, job: ShownJob): Promise<Dashboard> {
    const refused = refusalOf(place, jobSecret() !== undefined);
    if (refused !== undefined) throw new CommandError(2, refused);
    // Without a secret the page is on loopback, which other users of this host can reach.
    const token = dashboardToken() ?? randomBytes(24).toString('base64url');
    const server = await DashboardServer.listen(place, token);
    process.stderr.write(`ringrun: dashboard: ${server.url}\n`);
    return new Dashboard(server, job);
  }

  /** On a node that serves no page: sends the figures of its ranks. */
  static send(job: ShownJob): Dashboard {
    return new Dashboard(undefined, job);
  }

  /** Shows this round from now on. */
  startRound(figures: RoundFigures): void {
    this.#current = {
      ...figures,
      reader: new FiguresReader(figures.round.restartCount),
      ages: new FigureAges(),
    };
    void this.#collect();
  }

  /** Frees the port. */
  async close(): Promise<void> {
    clearInterval(this.#ticker);
    await this.#server?.close();
  }

  /** One collection at a time, so that a file system or store that hangs delays the page only. */
  async #collect(): Promise<void> {
    if (this.#current === undefined || this.#isCollecting) return;
    this.#isCollecting = true;
    try {
      const { round, files, reader, ages, currentStore } = this.#current;
      const now = currentTime();
      const own = (await readFigures(files)).map((figures) => ages.withAge(figures, now));
      const store = round.groupWorldSize > 1 ? currentStore() : undefined;
      if (this.#server !== undefined) {
        const others = store === undefined ? [] : await reader.read(store, otherNodes(round));
        this.#show(round, [...own, ...others]);
      } else if (store !== undefined) await sendFigures(store, round, own);
    } catch {
      // The store is lost, or a folder was removed. The rendezvous handles this; the page shows the age of the figures.
    }
    this.#isCollecting = false;
  }

  #show(round: Round, figures: readonly AgedFigures[]): void {
    if (round !== this.#current?.round) return;
    const { runId, restartCount } = round;
    const ranks = byRank(figures.filter((one) => one.restartCount === restartCount));
    this.#server?.show({
      runId,
      name: this.#name,
      restartCount,
      worldSize: worldSizeOf(round),
      ranks,
      events: this.#events.events,
    });
  }
}

function otherNodes({ groupRank, groupWorldSize }: Round): number[] {
  return Array.from({ length: groupWorldSize }, (_, i) => i).filter((other) => other !== groupRank);
}
