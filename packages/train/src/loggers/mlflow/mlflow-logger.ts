import { InvalidArgumentError, requireInteger, requireOptions, type OptionNames } from '@ringrun/core';
import { RankZeroLogger, type Outcome } from '../logger.ts';
import { MlflowClient, type MlflowError } from './client.ts';
import { Pending, retryDelay, type Task } from './pending.ts';

/** Options of {@link MLflowLogger}. */
export interface MLflowLoggerOptions {
  /** The tracking server, such as `http://mlflow:5000`. Default: MLFLOW_TRACKING_URI. */
  trackingUri?: string;
  /** Name of the experiment, which is created if it is missing. Default: MLFLOW_EXPERIMENT_NAME, or 'Default'. */
  experimentName?: string;
  /** Name of the run. Default: the server's choice. */
  runName?: string;
  /** Continues this run. Default: MLFLOW_RUN_ID; without it, a new run, or the run of the checkpoint that is resumed. */
  runId?: string;
  /** Tags of a new run. Default: none. */
  tags?: Readonly<Record<string, string>>;
  /** Milliseconds that `close` waits for the server. Default: 30,000. */
  closeTimeoutMs?: number;
}

const optionNames: OptionNames<MLflowLoggerOptions> = {
  trackingUri: true,
  experimentName: true,
  runName: true,
  runId: true,
  tags: true,
  closeTimeoutMs: true,
};

/** Characters of a parameter that the server stores. */
const longestParameter = 6000;

const statuses = { finished: 'FINISHED', failed: 'FAILED', preempted: 'KILLED' } as const;

/**
 * Sends results to an MLflow tracking server over its REST interface (Lightning: MLFlowLogger). Requests are made in the background
 * and repeated while the server is not reachable or busy, so it never delays or ends a training; a line on stderr reports the
 * first failure. MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, are sent as credentials.
 */
export class MLflowLogger extends RankZeroLogger {
  readonly #options: MLflowLoggerOptions;
  readonly #client: MlflowClient;
  readonly #pending = new Pending();
  #runId: string | undefined;
  /** Whether the server has the run in the state RUNNING. */
  #isRunning = false;
  #sending: Promise<void> | undefined;
  #hasReported = false;
  /** Aborted when `close` has waited long enough. */
  readonly #ended = new AbortController();
  #wake: () => void = () => undefined;

  /** @throws InvalidArgumentError for an unknown option, or without the address of a server */
  constructor(options: MLflowLoggerOptions = {}) {
    super();
    requireOptions('MLflowLogger', options, optionNames);
    const uri = options.trackingUri ?? process.env['MLFLOW_TRACKING_URI'] ?? '';
    if (!/^https?:\/\//.test(uri)) {
      throw new InvalidArgumentError(
        `MLflowLogger: trackingUri: expected a URL such as http://mlflow:5000, got '${uri}'. Pass it, or set MLFLOW_TRACKING_URI; start a server with: mlflow server.`,
      );
    }
    requireInteger(options.closeTimeoutMs ?? 0, { who: 'MLflowLogger', what: 'closeTimeoutMs', min: 0 });
    this.#options = options;
    this.#client = new MlflowClient(uri, credentials(process.env), this.#ended.signal);
    this.#runId = options.runId ?? process.env['MLFLOW_RUN_ID'];
  }

  /** The id of the run; undefined before the server has created it. */
  get runId(): string | undefined {
    return this.#runId;
  }

  /** The id of the run, so that a resumed training continues it. */
  stateDict(): Readonly<Partial<Record<'runId', string>>> {
    return this.#runId === undefined ? {} : { runId: this.#runId };
  }

  /** Continues the run of the checkpoint, unless `runId` is given. Points of steps that are repeated stay. */
  resume(_step: number, state: unknown): void {
    this.#runId ??= (state as { runId?: string } | undefined)?.runId;
  }

  protected override writeHyperparameters(hyperparameters: Readonly<Record<string, string>>): void {
    for (const [key, value] of Object.entries(hyperparameters))
      this.#pending.addParameter(key, value.slice(0, longestParameter));
    this.#send();
  }

  protected override writeMetrics(metrics: Readonly<Record<string, number>>, step: number): void {
    const timestamp = Date.now();
    this.#pending.addMetrics(
      Object.entries(metrics).map(([key, value]) => ({
        key,
        value: Number.isFinite(value) ? value : String(value),
        timestamp,
        step,
      })),
    );
    this.#send();
  }

  protected override async end(outcome: Outcome): Promise<void> {
    if (this.#sending === undefined && !this.#isRunning) return;
    const { closeTimeoutMs = 30_000 } = this.#options;
    const giveUp = setTimeout(() => {
      this.#ended.abort();
      this.#wake();
    }, closeTimeoutMs);
    this.#wake();
    await this.#sending;
    const hasEnded = await this.#attempt(async () => {
      await this.#client.updateRun(await this.#run(), statuses[outcome], Date.now());
    });
    clearTimeout(giveUp);
    this.#isRunning = false;
    const lost = this.#pending.size + this.#pending.dropped;
    if (hasEnded && lost === 0) return;
    process.stderr.write(
      `ringrun: MLflowLogger: ${lost} values were not sent before the end of the training.\n`,
    );
  }

  /** Sends what is pending, one request after another. Requests that follow while one runs are combined. */
  #send(): void {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      if (!this.#pending.isEmpty && !this.#isGivenUp()) this.#send();
    });
  }

  async #sendAll(): Promise<void> {
    // Combines the calls of one step.
    await Promise.resolve();
    for (let task = this.#pending.next; task !== undefined; task = this.#pending.next) {
      const current = task;
      if (!(await this.#attempt(() => this.#sendOne(current)))) return;
      this.#pending.remove(current);
    }
  }

  async #sendOne(task: Task): Promise<void> {
    const runId = await this.#run();
    if (task.kind === 'metrics') await this.#client.logBatch(runId, task.metrics);
    else await this.#client.logParameter(runId, task.key, task.value);
  }

  /** Repeats a request until it succeeds or is refused. Returns false if `close` has given up before. */
  async #attempt(request: () => Promise<void>): Promise<boolean> {
    for (let failures = 1; !this.#isGivenUp(); failures += 1) {
      try {
        await request();
        return true;
      } catch (error) {
        if (this.#isGivenUp()) break;
        this.#report(error as MlflowError);
        if (!(error as MlflowError).isTemporary) return true;
      }
      await this.#pause(retryDelay(failures));
    }
    return false;
  }

  #isGivenUp(): boolean {
    return this.#ended.signal.aborted;
  }

  #report({ message, isTemporary }: MlflowError): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    const then = isTemporary ? 'The request is repeated' : 'Its values are lost';
    process.stderr.write(`ringrun: MLflowLogger: ${message}. ${then}; the training continues.\n`);
  }

  /** Ends early when `close` is called. Does not keep the process alive. */
  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, ms).unref();
    });
  }

  /** The id of the run, which is created, or set to RUNNING again, at the first request. */
  async #run(): Promise<string> {
    const { experimentName, runName, tags = {} } = this.#options;
    if (this.#isRunning) return this.#runId!;
    if (this.#runId !== undefined) await this.#client.updateRun(this.#runId, 'RUNNING');
    else {
      const name = experimentName ?? process.env['MLFLOW_EXPERIMENT_NAME'] ?? 'Default';
      const experiment = await this.#client.experiment(name);
      this.#runId = await this.#client.createRun(experiment, { runName, tags, startTime: Date.now() });
    }
    this.#isRunning = true;
    return this.#runId;
  }
}

function credentials(env: NodeJS.ProcessEnv): Record<string, string> {
  const token = env['MLFLOW_TRACKING_TOKEN'];
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  const [user, password] = [env['MLFLOW_TRACKING_USERNAME'], env['MLFLOW_TRACKING_PASSWORD']];
  if (user === undefined || password === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}
