import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { NamedScenario } from '../fixtures/run-scenario.ts';
import type { Command } from './command.ts';
import { killAll } from './processes.ts';
import { startUntilKilled } from './start.ts';

/** How a scenario ended. */
export interface EndedScenario {
  /** The output of its ranks. */
  stderr: string;
}

/** Time limit of all tests of a file: no scenario may take longer than a test. */
const limitMs = 3_600_000;

/** The ranks of one job that run scenarios one after the other. */
export class ScenarioRanks {
  readonly #server: Server;
  readonly #command: Command;
  readonly #sockets: Promise<Socket[]>;
  readonly #size: number;
  #count = 0;
  #read = 0;
  #hasFailed = false;

  /** @param folder for a socket */
  constructor(script: string, size: number, folder: string) {
    const path = join(folder, `ranks-${size}-${performance.now()}.socket`);
    this.#size = size;
    const sockets: Socket[] = [];
    this.#server = createServer();
    this.#sockets = new Promise((resolve) => {
      this.#server.on('connection', (socket) => {
        // A rank that dies closes its connection.
        socket.on('error', () => undefined);
        if (sockets.push(socket) === size) resolve(sockets);
      });
    });
    this.#server.listen(path);
    const job = size === 1 ? [] : ['launch', '--nproc', String(size)];
    this.#command = startUntilKilled(process.execPath, [...job, script, '--from', path], { limitMs });
  }

  /** False after a scenario that failed. */
  get canGoOn(): boolean {
    return !this.#hasFailed;
  }

  /** Rejects with the output of the job if it ends instead. */
  async run(named: Omit<NamedScenario, 'end'>): Promise<EndedScenario> {
    this.#hasFailed = true;
    const end = `scenario ${(this.#count += 1)} has ended`;
    const sockets = await Promise.race([this.#sockets, this.#endedEarly()]);
    for (const socket of sockets) socket.write(`${JSON.stringify({ ...named, end })}\n`);
    const { input } = await this.#command.sees(new RegExp(`(?:^${end}\\n[^]*){${this.#size}}`, 'm'));
    const stderr = input.slice(this.#read).replaceAll(`${end}\n`, '');
    this.#read = input.length;
    this.#hasFailed = false;
    return { stderr };
  }

  /** Ends the job. Resolves with its end: exit code 0 unless a scenario failed. */
  async close() {
    if (this.#hasFailed) killAll(this.#command.processes());
    else for (const socket of await this.#sockets) socket.end();
    this.#server.close();
    return await this.#command.ended;
  }

  async #endedEarly(): Promise<never> {
    const { stdout, stderr } = await this.#command.ended;
    throw new Error(`the job ended before its scenario:\n${stdout}${stderr}`);
  }
}
