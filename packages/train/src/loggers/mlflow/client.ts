/** A value of a metric, as the tracking server stores it. */
export interface MlflowMetric {
  readonly key: string;
  /** The server's JSON has 'NaN', 'Infinity' and '-Infinity' as strings. */
  readonly value: number | string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly step: number;
}

/** A request that failed. */
export class MlflowError extends Error {
  /** Whether the same request may succeed later: the server is not reachable, or busy. */
  readonly isTemporary: boolean;
  /** The server's name of the problem, such as RESOURCE_DOES_NOT_EXIST. */
  readonly problem: string | undefined;

  constructor(
    message: string,
    { isTemporary, problem }: { isTemporary: boolean; problem?: string | undefined },
  ) {
    super(message);
    this.isTemporary = isTemporary;
    this.problem = problem;
  }
}

/** Milliseconds after which a request is given up. */
const requestTimeoutMs = 30_000;

/** The REST interface of a tracking server (mlflow.org/docs/latest/api_reference/rest-api.html). */
export class MlflowClient {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #ended: AbortSignal;

  /**
   * @param uri http:// or https://
   * @param ended ends all requests
   */
  constructor(uri: string, headers: Readonly<Record<string, string>>, ended: AbortSignal) {
    this.#ended = ended;
    this.#base = `${uri.replace(/\/+$/, '')}/api/2.0/mlflow/`;
    this.#headers = headers;
  }

  /** The id of an experiment, which is created if it is missing. */
  async experiment(name: string): Promise<string> {
    const query = `experiments/get-by-name?experiment_name=${encodeURIComponent(name)}`;
    const known = () =>
      this.#request<{ experiment: { experiment_id: string } }>('GET', query).then(
        ({ experiment }) => experiment.experiment_id,
      );
    return await known().catch(async (error: unknown) => {
      if ((error as MlflowError).problem !== 'RESOURCE_DOES_NOT_EXIST') throw error;
      return await this.#request<{ experiment_id: string }>('POST', 'experiments/create', { name }).then(
        ({ experiment_id: id }) => id,
        // Another job has created it meanwhile.
        (failure: unknown) =>
          (failure as MlflowError).problem === 'RESOURCE_ALREADY_EXISTS'
            ? known()
            : Promise.reject(failure as Error),
      );
    });
  }

  /** The id of a new run. */
  async createRun(
    experimentId: string,
    {
      runName,
      tags,
      startTime,
    }: { runName: string | undefined; tags: Readonly<Record<string, string>>; startTime: number },
  ): Promise<string> {
    const { run } = await this.#request<{ run: { info: { run_id: string } } }>('POST', 'runs/create', {
      experiment_id: experimentId,
      start_time: startTime,
      ...(runName !== undefined && { run_name: runName }),
      tags: Object.entries(tags).map(([key, value]) => ({ key, value })),
    });
    return run.info.run_id;
  }

  /** At most 1,000 metrics. */
  async logBatch(runId: string, metrics: readonly MlflowMetric[]): Promise<void> {
    await this.#request('POST', 'runs/log-batch', { run_id: runId, metrics });
  }

  async logParameter(runId: string, key: string, value: string): Promise<void> {
    await this.#request('POST', 'runs/log-parameter', { run_id: runId, key, value });
  }

  async updateRun(runId: string, status: string, endTime?: number): Promise<void> {
    const end = endTime === undefined ? {} : { end_time: endTime };
    await this.#request('POST', 'runs/update', { run_id: runId, status, ...end });
  }

  async #request<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const url = `${this.#base}${path}`;
    const response = await fetch(url, {
      method,
      headers: { ...this.#headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([AbortSignal.timeout(requestTimeoutMs), this.#ended]),
    }).catch((error: unknown) => {
      const { message, cause } = error as Error;
      throw new MlflowError(`${url}: ${(cause as Error | undefined)?.message ?? message}`, {
        isTemporary: true,
      });
    });
    const text = await response.text().catch(() => '');
    const answer = parsed(text);
    if (response.ok && answer !== undefined) return answer as Answer;
    const { error_code: problem, message = text.slice(0, 200) } = (answer ?? {}) as {
      readonly error_code?: string;
      readonly message?: string;
    };
    // A proxy in front of a server that starts answers with a page, too.
    const isTemporary = response.status >= 500 || [408, 425, 429].includes(response.status) || response.ok;
    throw new MlflowError(`${url}: status ${response.status}: ${message}`, { isTemporary, problem });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : text);
  } catch {
    return undefined;
  }
}
