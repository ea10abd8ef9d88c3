import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MLflowLogger } from '../../src/index.ts';
import { retryDelay } from '../../src/loggers/mlflow/pending.ts';
import { trackingServer } from '../support/tracking-server.ts';

const lines: string[] = [];
beforeEach(() => {
  lines.length = 0;
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    lines.push(String(text));
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

const time = expect.any(Number) as unknown;

test('a run is created, receives parameters and metrics, and is finished', async () => {
  process.env['MLFLOW_TRACKING_TOKEN'] = 'secret';
  const { uri, received } = await trackingServer();
  const logger = new MLflowLogger({
    trackingUri: uri,
    experimentName: 'a b',
    runName: 'first',
    tags: { x: '1' },
  });
  logger.logHyperparameters({ lr: 0.1 });
  logger.logMetrics({ loss: 0.5, 'val/accuracy': NaN }, 1);
  logger.logMetrics({ loss: 0.25 }, 2);
  await logger.close();
  const metric = (key: string, value: unknown, step: number) => ({ key, value, step, timestamp: time });
  expect(received.map(({ path, body }) => [path, body])).toEqual([
    ['experiments/get-by-name?experiment_name=a%20b', {}],
    ['experiments/create', { name: 'a b' }],
    [
      'runs/create',
      { experiment_id: '7', run_name: 'first', start_time: time, tags: [{ key: 'x', value: '1' }] },
    ],
    ['runs/log-parameter', { run_id: 'run1', key: 'lr', value: '0.1' }],
    [
      'runs/log-batch',
      {
        run_id: 'run1',
        metrics: [metric('loss', 0.5, 1), metric('val/accuracy', 'NaN', 1), metric('loss', 0.25, 2)],
      },
    ],
    ['runs/update', { run_id: 'run1', status: 'FINISHED', end_time: time }],
  ]);
  expect(new Set(received.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer secret']));
  expect(lines).toEqual([]);
});

test('a resumed training continues the run of its checkpoint, and a preempted one is KILLED', async () => {
  const { uri, received } = await trackingServer();
  const logger = new MLflowLogger({ trackingUri: uri });
  logger.resume(5, { runId: 'run0' });
  expect(logger.stateDict()).toEqual({ runId: 'run0' });
  for (let step = 0; step < 1500; step += 1) logger.logMetrics({ loss: step }, step);
  await logger.close('preempted');
  expect(
    received.map(({ path, body }) => [path, body['status'], (body['metrics'] as [] | undefined)?.length]),
  ).toEqual([
    ['runs/update', 'RUNNING', undefined],
    ['runs/log-batch', undefined, 1000],
    ['runs/log-batch', undefined, 500],
    ['runs/update', 'KILLED', undefined],
  ]);
});

test('a request is repeated while the server is busy or a proxy answers, with one line on stderr', async () => {
  const answers = [
    { status: 503, body: 'busy' },
    { status: 200, body: '<html>' },
  ];
  const { uri, received } = await trackingServer((path) =>
    path === 'runs/log-batch' ? answers.shift() : undefined,
  );
  const logger = new MLflowLogger({ trackingUri: uri });
  logger.logMetrics({ loss: 1 }, 1);
  await logger.close();
  expect(received.map(({ path }) => path).slice(-2)).toEqual(['runs/log-batch', 'runs/update']);
  expect(lines).toEqual([
    expect.stringMatching(/status 503: busy\. The request is repeated; the training cont/),
  ]);
}, 20_000);

test('values that the server refuses are lost, later ones are not', async () => {
  let isRefused = true;
  const { uri, received } = await trackingServer((path) => {
    if (path !== 'runs/log-parameter' || !isRefused) return undefined;
    isRefused = false;
    return { status: 400, body: '{"error_code":"INVALID_PARAMETER_VALUE","message":"changed"}' };
  });
  const logger = new MLflowLogger({ trackingUri: uri });
  logger.logHyperparameters({ lr: 1, momentum: 2 });
  await logger.close();
  expect(received.filter(({ path }) => path === 'runs/log-parameter').map(({ body }) => body['key'])).toEqual(
    ['momentum'],
  );
  expect(lines).toEqual([expect.stringContaining('changed. Its values are lost; the training continues.')]);
});

test('without a server, close gives up in its time and says what is lost', async () => {
  const logger = new MLflowLogger({ trackingUri: 'http://127.0.0.1:9', closeTimeoutMs: 50 });
  logger.logMetrics({ loss: 1, accuracy: 2 }, 1);
  const begun = performance.now();
  await logger.close();
  expect(performance.now() - begun).toBeLessThan(5000);
  expect(lines).toEqual([
    expect.stringContaining('http://127.0.0.1:9/api/2.0/mlflow/'),
    'ringrun: MLflowLogger: 2 values were not sent before the end of the training.\n',
  ]);
});

test('an address that is no URL is refused', () => {
  expect(() => new MLflowLogger()).toThrow(
    /trackingUri: expected a URL .* got ''. Pass it, or set MLFLOW_TRACKING_URI/,
  );
  expect(() => new MLflowLogger({ trackingUri: 'mlruns' })).toThrow(/got 'mlruns'/);
});

test('attempts are 1 s to 30 s apart', () => {
  expect([1, 2, 5, 6, 100].map(retryDelay)).toEqual([1000, 2000, 16_000, 30_000, 30_000]);
});
