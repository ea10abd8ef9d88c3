// Prints what launches and replays cost: `node costs.js RUNS`. Programs of 40 and 280 kernels with one block each, as one
// step has nodes. With CUDA_LAUNCH_BLOCKING=1 each kernel is launched and awaited.
import { loadNative } from '../../native/lib/index.ts';
import { median } from '../../bench/support.js';

const runs = Number(process.argv[2]);
const device = new (loadNative().GpuDevice)(0);
const module = device.compileSync(
  'extern "C" __global__ void addOne(float* x) { x[threadIdx.x] += 1; }',
  'add_one.cu',
);
for (const nodes of [40, 280]) {
  const program = device.createProgram({
    name: 'costs',
    arenaBytes: 0,
    slots: [1024],
    commands: Array.from({ length: nodes }, (_, i) => ({
      ...{ kind: 'launch', name: `addOne_${i}`, module, kernel: 'addOne' },
      ...{ grid: [1, 1, 1], block: [256, 1, 1], arguments: [{ slot: 0 }] },
    })),
  });
  program.bind(0, device.allocate(1024));
  for (let i = 0; i < 3; i += 1) await program.run();
  const awaited = [];
  for (let i = 0; i < runs; i += 1) {
    const start = performance.now();
    await program.run();
    awaited.push(performance.now() - start);
  }
  const start = performance.now();
  await Promise.all(Array.from({ length: runs }, () => program.run()));
  const queued = (performance.now() - start) / runs;
  const gpu = median(await program.measure(runs));
  const us = (ms) => Math.round(ms * 1e4) / 10;
  console.log(
    JSON.stringify({ nodes, awaitedUs: us(median(awaited)), queuedUs: us(queued), gpuUs: us(gpu) }),
  );
}
