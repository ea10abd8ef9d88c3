// The real tracking server. It is large, so this runs only with RINGRUN_MLFLOW, the command `mlflow` of PyPI's package:
//
//   python3 -m venv /tmp/mlflow && /tmp/mlflow/bin/pip install mlflow && RINGRUN_MLFLOW=/tmp/mlflow/bin/mlflow npm run test:mlflow
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freePort } from '../../../../test/support/free-port.ts';
import { start } from '../../../../test/support/start.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { MLflowLogger } from '../../src/index.ts';

const mlflow = process.env['RINGRUN_MLFLOW'];
const title = `MLflow's server${mlflow === undefined ? ': skipped, npm run test:mlflow' : ''}`;

interface Run {
  readonly info: { readonly status: string; readonly run_name: string; readonly end_time?: number };
  readonly data: {
    readonly metrics: readonly { readonly key: string; readonly value: number; readonly step: number }[];
    readonly params: readonly { readonly key: string; readonly value: string }[];
    readonly tags: readonly { readonly key: string; readonly value: string }[];
  };
}

describe.runIf(mlflow !== undefined)(title, () => {
  test('has the run of a training that began before the server, and of its resumed form', async () => {
    const [folder, port] = [temporaryFolder(), await freePort()];
    const trackingUri = `http://127.0.0.1:${port}`;
    const options = { trackingUri, experimentName: 'ringrun', closeTimeoutMs: 100_000 };
    const logger = new MLflowLogger({ ...options, runName: 'first', tags: { model: 'cnn' } });
    logger.logHyperparameters({ optimizer: { lr: 0.1 } });
    logger.logMetrics({ 'val/loss': 0.5, bad: NaN }, 10);
    const store = `sqlite:///${join(folder, 'mlflow.db')}`;
    const args = ['server', '--backend-store-uri', store, '--port', String(port), '--workers', '1'];
    const server = start(mlflow!, args, { cwd: folder, limitMs: 200_000 });
    await server.sees(/Application startup complete|Listening at/);
    await logger.close('preempted');

    const runId = logger.runId!;
    const runOf = async () => {
      const response = await fetch(`${trackingUri}/api/2.0/mlflow/runs/get?run_id=${runId}`);
      return ((await response.json()) as { run: Run }).run;
    };
    const killed = await runOf();
    expect(killed.info).toMatchObject({
      status: 'KILLED',
      run_name: 'first',
      end_time: expect.any(Number) as unknown,
    });
    expect(killed.data.params).toEqual([{ key: 'optimizer/lr', value: '0.1' }]);
    expect(killed.data.tags).toContainEqual({ key: 'model', value: 'cnn' });
    expect(killed.data.metrics.map(({ key, step }) => [key, step])).toEqual(
      expect.arrayContaining([
        ['val/loss', 10],
        ['bad', 10],
      ]),
    );

    const resumed = new MLflowLogger(options);
    resumed.resume(10, logger.stateDict());
    for (let step = 11; step < 1211; step += 1) resumed.logMetrics({ 'val/loss': 1 / step }, step);
    await resumed.close();
    const finished = await runOf();
    expect(finished.info.status).toBe('FINISHED');
    expect(finished.data.metrics).toContainEqual(expect.objectContaining({ key: 'val/loss', step: 1210 }));
    // The server ends its workers on Ctrl-C.
    process.kill(server.pid, 'SIGINT');
  }, 250_000);
});
