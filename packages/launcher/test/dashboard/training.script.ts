// One rank that trains with DistributedDataParallel and a training report, until a file exists. Arguments: that file, and
// the rank that is slow. With FAIL=1, rank 1 fails after its first steps, in the first round only.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DistributedDataParallel,
  allReduce,
  destroyProcessGroup,
  getRank,
  initProcessGroup,
  trainingReport,
} from 'ringrun';
import type { ForwardModule, GradientSink } from 'ringrun';

const [, , stop, slowRank] = process.argv;

/** One parameter, whose gradient each backward pass writes. */
const parameter = {
  shape: [2],
  data: new Float32Array(2),
  grad: undefined as Float32Array | undefined,
  gradientSink: undefined as GradientSink | undefined,
  gradientWritten() {
    this.grad = this.gradientSink!.arrayOf(this).fill(1);
  },
};
const model = {
  synchronous: false,
  namedParameters: () => [['weight', parameter] as const],
  namedBuffers: () => [],
  forward: () => undefined,
} satisfies ForwardModule;

await initProcessGroup();
new DistributedDataParallel(model);
const report = await trainingReport({
  samples: 1_000_000,
  epochs: 2,
  unit: 'images',
  logInterval: 1_000_000,
});
const ends = new Float32Array(1);
const batches = { length: 1_000_000, [Symbol.iterator]: () => new Array(1_000_000).keys() };
for await (const step of report.epoch(1, batches)) {
  await sleep(getRank() === Number(slowRank) ? 15 : 2);
  parameter.gradientWritten();
  await parameter.gradientSink!.beginPass([parameter]).done();
  const fails = process.env['FAIL'] === '1' && process.env['RINGRUN_RESTART_COUNT'] === '0';
  if (fails && getRank() === 1 && step === 20) throw new Error('<b>the disk</b> is full');
  await report.step({ loss: 1 / (step + 1), samples: 8, lr: 0.1 });
  if (getRank() === 0) report.addScalar('<b>accuracy</b>', step);
  ends[0] = getRank() === 0 && existsSync(stop) ? 1 : 0;
  await allReduce(ends);
  if (ends[0] > 0) break;
}
await report.end();
await destroyProcessGroup();
