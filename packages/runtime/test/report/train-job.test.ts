import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { fractionDone, secondsLeft, statusOf } from '../../src/report/train-job/status.ts';
import type { TrainingProgress } from '../../src/report/train-job/status.ts';
import { preemptionListeners } from '../../src/checkpoint/preemption.ts';
import { TrainJobProgress } from '../../src/report/train-job/train-job-progress.ts';
import { trainingReport } from '../../src/report/training-report.ts';
import { launch } from '../../../launcher/test/support/launched.ts';
import { builtFile } from '../../../../test/support/built-script.ts';
import { ways } from '../../../../test/support/extent.ts';
import { withoutWaiting } from '../../../../test/support/without-waiting.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe('the progress of training', () => {
  const at = (epoch: number, steps: number, epochs: number | undefined = 4): TrainingProgress => ({
    epoch,
    epochs,
    steps,
    stepsOfEpoch: 10,
  });

  test('is the fraction of completed steps', () => {
    expect(fractionDone(at(1, 0))).toBe(0);
    expect(fractionDone(at(2, 5))).toBe(0.375);
    expect(fractionDone(at(4, 10))).toBe(1);
    expect(fractionDone({ ...at(1, 0), stepsOfEpoch: 0 })).toBe(0.25);
    expect(fractionDone({ ...at(2, 5), epochs: undefined })).toBeUndefined();
  });

  test('the remaining time follows from the rate since this process started', () => {
    expect(secondsLeft(0, 0.25, 10)).toBe(30);
    expect(secondsLeft(0.5, 0.75, 10)).toBe(10);
    expect(secondsLeft(0.5, 0.5, 10)).toBeUndefined();
    expect(secondsLeft(0, 1, 10)).toBe(0);
  });

  test('has whole percent and seconds, and metrics as strings; unknown values are absent', () => {
    expect(statusOf(0.999, 0.1, { loss: 0.12345678, epoch: 3, lr: undefined, nan: NaN })).toEqual({
      progressPercentage: 99,
      estimatedRemainingSeconds: 1,
      metrics: [
        { name: 'loss', value: '0.123457' },
        { name: 'epoch', value: '3' },
        { name: 'nan', value: 'NaN' },
      ],
    });
    expect(statusOf(undefined, undefined, { steps: 7 })).toEqual({
      metrics: [{ name: 'steps', value: '7' }],
    });
  });
});

interface Received {
  at: number;
  authorization: string | undefined;
  type: string | undefined;
  path: string | undefined;
  trainerStatus: {
    progressPercentage?: number;
    estimatedRemainingSeconds?: number;
    metrics: object[];
    lastUpdatedTime: string;
  };
}

/** A fake of the trainer's server with its own certificate: records requests, and returns the configured answers. */
async function trainerServer() {
  const folder = temporaryFolder();
  const [key, certificateFile, tokenFile] = ['key.pem', 'ca.crt', 'token'].map((name) => join(folder, name));
  const about = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '1'];
  const pair = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key];
  execFileSync('openssl', ['req', '-x509', ...pair, '-out', certificateFile, ...about], { stdio: 'ignore' });
  writeFileSync(tokenFile, 'first\n');
  const received: Received[] = [];
  const answer = { code: 200 };
  const server = createServer(
    { key: readFileSync(key), cert: readFileSync(certificateFile) },
    (request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        const { authorization, 'content-type': type } = request.headers;
        const { trainerStatus } = JSON.parse(body) as Pick<Received, 'trainerStatus'>;
        received.push({ at: performance.now(), authorization, type, path: request.url, trainerStatus });
        response.writeHead(answer.code).end('{}');
      });
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => close(server));
  const url = `https://localhost:${(server.address() as AddressInfo).port}/v1/status?job=mnist`;
  return { url, certificateFile, tokenFile, received, answer, server };
}

/** The variables that the operator sets in a pod. */
function variablesOf({ url, certificateFile, tokenFile }: Awaited<ReturnType<typeof trainerServer>>) {
  return {
    KUBEFLOW_TRAINER_SERVER_URL: url,
    KUBEFLOW_TRAINER_SERVER_CA_CERT: certificateFile,
    KUBEFLOW_TRAINER_SERVER_TOKEN: tokenFile,
  };
}

function stubVariables(server: Awaited<ReturnType<typeof trainerServer>>): void {
  for (const [name, value] of Object.entries(variablesOf(server))) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  if (server.listening) await new Promise((resolve) => server.close(resolve));
}

const half: TrainingProgress = { epoch: 1, epochs: 1, steps: 5, stepsOfEpoch: 10 };

describe('the server receives', () => {
  test('a status with the current token, at most once per interval, and a final one', async () => {
    const { received, tokenFile, ...server } = await trainerServer();
    const lines: string[] = [];
    // The clock advances only when the code sleeps.
    const slept: number[] = [];
    let now = 1000;
    const sleep = (ms: number) => {
      slept.push(ms);
      return Promise.resolve((now += ms));
    };
    const progress = new TrainJobProgress(
      { ...server, tokenFile },
      { intervalMs: 5000, log: (line) => lines.push(line), clock: { now: () => now, sleep } },
    );
    progress.begin({ ...half, steps: 0 });
    for (let steps = 1; steps <= 5; steps += 1) progress.show({ ...half, steps }, { loss: 1 / steps });
    await vi.waitFor(() => {
      expect(received).toHaveLength(1);
    });
    writeFileSync(tokenFile, 'second');
    now += 4999;
    progress.show({ ...half, steps: 10 }, { loss: 0.1 });
    await progress.end();

    expect(slept).toEqual([1]);
    expect(received.map(({ authorization }) => authorization)).toEqual(['Bearer first', 'Bearer second']);
    const [first, last] = received;
    expect(first).toMatchObject({ type: 'application/json', path: '/v1/status?job=mnist' });
    expect(first.trainerStatus).toMatchObject({
      progressPercentage: 10,
      metrics: [{ name: 'loss', value: '1' }],
    });
    expect(first.trainerStatus.lastUpdatedTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(last.trainerStatus).toMatchObject({
      progressPercentage: 100,
      estimatedRemainingSeconds: 0,
      metrics: [{ name: 'loss', value: '0.1' }],
    });
    expect(lines).toEqual([]);
  });

  test.each(ways(['asynchronous'], ['synchronous']))(
    'without a report: the number of %s DDP steps from rank 0, without a percentage',
    async (kind) => {
      const server = await trainerServer();
      const stop = join(temporaryFolder(), 'stop');
      const script = fileURLToPath(builtFile(new URL('train-job.script.ts', import.meta.url)));
      const training = launch(['--nproc', '2', script, kind, stop], { env: variablesOf(server) });
      const seen = vi.waitFor(
        () => {
          expect(server.received).not.toEqual([]);
        },
        { timeout: 20_000 },
      );
      await Promise.race([seen, training.ended]);
      writeFileSync(stop, '');
      expect(withoutWaiting(await training.ended)).toMatchObject({ code: 0, stderr: '' });
      // One every 5 s.
      expect(server.received).toHaveLength(1);
      const { trainerStatus } = server.received[0];
      expect(Object.keys(trainerStatus).sort()).toEqual(['lastUpdatedTime', 'metrics']);
      expect(trainerStatus.metrics).toEqual([
        { name: 'steps', value: expect.stringMatching(/^[1-9]\d*$/) as string },
      ]);
    },
  );

  test('the status of a training report, without further code', async () => {
    const server = await trainerServer();
    const { received } = server;
    stubVariables(server);
    const output = new PassThrough();
    const report = await trainingReport({ samples: 6, epochs: 2, unit: 'images', output });
    for (const epoch of [1, 2]) {
      for await (const batch of report.epoch(epoch, [1, 2, 3])) {
        await report.step({ loss: batch, samples: 2, lr: 0.5 });
      }
    }
    await report.end();
    expect(received.map(({ trainerStatus }) => trainerStatus.progressPercentage)).toEqual([16, 100]);
    expect(received[1].at - received[0].at).toBeGreaterThan(4500);
    expect(received[1].trainerStatus).toMatchObject({
      estimatedRemainingSeconds: 0,
      metrics: [
        { name: 'loss', value: '3' },
        { name: 'epoch', value: '2' },
        { name: 'images_per_second' },
        { name: 'learning_rate', value: '0.5' },
      ],
    });
  });
});

test('a preempted training reports the step of its checkpoint, and not that it has finished', async () => {
  const server = await trainerServer();
  const { received } = server;
  stubVariables(server);
  const output = new PassThrough();
  const report = await trainingReport({ samples: 6, epochs: 2, output });
  for await (const batch of report.epoch(1, [1, 2, 3])) {
    await report.step({ loss: batch, samples: 2 });
    break;
  }
  for (const listener of preemptionListeners) await listener(1_234_567, 'preempted');
  expect(String(output.read())).toMatch(/\npreempted at step 1234567, checkpoint saved\n$/);
  expect(received.at(-1)!.trainerStatus).toMatchObject({
    progressPercentage: 16,
    metrics: expect.arrayContaining([{ name: 'preempted_at_step', value: '1234567' }]) as unknown,
  });
  expect(received.at(-1)!.trainerStatus).not.toHaveProperty('estimatedRemainingSeconds');
  await report.end();
  expect(preemptionListeners.size).toBe(0);
});

describe('logs each kind of failure once and does not disturb training', () => {
  async function failures(server: Awaited<ReturnType<typeof trainerServer>>, causes: (() => unknown)[]) {
    const lines: string[] = [];
    const progress = new TrainJobProgress(server, { intervalMs: 0, log: (line) => lines.push(line) });
    for (const cause of causes) {
      await cause();
      for (let twice = 0; twice < 2; twice += 1) {
        progress.show(half, {});
        await vi.waitFor(() => {
          expect(progress.isDue).toBe(true);
        });
      }
    }
    await progress.end();
    return lines;
  }

  test('error responses, missing files and bad certificates', async () => {
    const server = await trainerServer();
    const other = await trainerServer();
    const { answer } = server;
    const lines = await failures(server, [
      () => (answer.code = 401),
      () => (answer.code = 503),
      () => (answer.code = 200),
      () => (server.certificateFile = other.certificateFile),
      () => (server.tokenFile = '/nowhere'),
    ]);
    expect(lines).toEqual([
      expect.stringMatching(
        /^ringrun: https:.* did not accept the progress of this TrainJob \(HTTP 401: .*Training continues/,
      ),
      expect.stringMatching(/\(HTTP 503: /),
      expect.stringMatching(/\(DEPTH_ZERO_SELF_SIGNED_CERT|\(SELF_SIGNED_CERT|\(UNABLE_TO_VERIFY/),
      expect.stringMatching(/\(ENOENT: .*\/nowhere/),
    ]);
  });

  test('a server that is unreachable', async () => {
    const server = await trainerServer();
    await close(server.server);
    expect(await failures(server, [() => undefined])).toEqual([expect.stringMatching(/\(ECONNREFUSED: /)]);
  });

  test('an address without HTTPS', async () => {
    const server = await trainerServer();
    server.url = 'http://localhost:1';
    expect(await failures(server, [() => undefined])).toEqual([
      expect.stringMatching(/\(ERR_INVALID_PROTOCOL: /),
    ]);
  });
});
