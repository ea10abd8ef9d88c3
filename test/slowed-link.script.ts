// Trains until the links that the group follows show that one has become slow, and prints its steps and the digest of its
// parameters. Rank 0 prints a line after 50 steps, when the usual wait is known.
import { createHash } from 'node:crypto';
import { manualSeed, nn, optim, tensor } from '@ringrun/nn';
import { DistributedDataParallel, destroyProcessGroup, getRank, groupLinks, initProcessGroup } from 'ringrun';

const mostSteps = 400;

await initProcessGroup();
manualSeed(1);
const net = new nn.Sequential(new nn.Linear(64, 256), new nn.Tanh(), new nn.Linear(256, 64));
const ddp = new DistributedDataParallel(net);
const optimizer = new optim.SGD(ddp.parameters(), { lr: 0.01 });
const first = groupLinks()!;

function hasSlowLink(): boolean {
  const now = groupLinks()!;
  return (
    now !== first && now.bandwidth.some((row, a) => row.some((rate, b) => rate < first.bandwidth[a][b] / 3))
  );
}

let step = 0;
// The links are equal on all ranks, so all stop after the same step.
for (; step < mostSteps && !hasSlowLink(); step += 1) {
  if (step === 50 && getRank() === 0) console.log('usual wait known');
  const input = Float32Array.from({ length: 8 * 64 }, (_, i) => Math.sin(i + step + getRank()));
  optimizer.zeroGrad();
  const output = ddp.forward(tensor(input, [8, 64]));
  await output.mul(output).mean().backward();
  await optimizer.step();
}
const digest = createHash('sha256');
for (const { data } of net.parameters())
  digest.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
const { bandwidth } = groupLinks()!;
await destroyProcessGroup();
console.log(JSON.stringify({ step, bandwidth, digest: digest.digest('hex') }));
