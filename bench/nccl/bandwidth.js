// Bandwidth of all-reduce over nccl for host arrays and GPU tensors, compared with the driver's own copies:
//
//   node launch --nproc 1 bench/nccl/bandwidth.js [MiB]
//   RINGRUN_SHARE_GPU=1 node launch --nproc 2 bench/nccl/bandwidth.js    ranks share a GPU, over sockets
//
// MiB is the size of the largest array. Default: 256. Prints bytes of the array per second of a call, as the median of
// several calls. An all-reduce of a host array copies it to the GPU and back.
import process from 'node:process';

import * as dist from 'ringrun';

import { loadNative } from '../../native/dist/index.js';

const rounds = 7;
const maxMebibytes = Number(process.argv[2] ?? 256);
const sizes = [1, 4, 25, 64, 256].filter((one) => one <= maxMebibytes).map((one) => one * 2 ** 20);

if (process.env.RINGRUN_SHARE_GPU === '1') {
  Object.assign(process.env, { NCCL_HOSTID: `rank ${process.env.RANK}`, CUDA_VISIBLE_DEVICES: '0' });
}
await dist.initProcessGroup({ backend: 'nccl' });
const group = dist.getNcclGroup();
const isFirst = group.rank === 0;

if (isFirst) {
  const { devices, nccl } = loadNative().describeNccl();
  console.log(`${devices[group.device].name}, NCCL ${nccl.version}, ranks: ${group.size}. GB/s:`);
  console.log(rowOf(['MiB', 'copy in', 'copy out', 'plain', 'registered', 'on GPU']));
}
for (const bytes of sizes) {
  const plain = new Float32Array(bytes / 4);
  const registered = group.allocateSync('float32', bytes / 4);
  const onDevice = group.allocate('float32', bytes / 4);
  await onDevice.copyFromHost(plain);
  const copies = loadNative().measureCopies(group.device, bytes, rounds);
  const rates = [copies.toDevice, copies.toHost];
  for (const tensor of [plain, registered, onDevice])
    rates.push(bytes / (await secondsOf(() => group.allReduce(tensor))));
  if (isFirst) console.log(rowOf([bytes / 2 ** 20, ...rates.map((rate) => (rate / 1e9).toFixed(2))]));
  onDevice.free();
}
await dist.destroyProcessGroup();

/** The median time of one call; the first call is not counted. */
async function secondsOf(operate) {
  await operate();
  const taken = [];
  for (let round = 0; round < rounds; round += 1) {
    await group.barrier();
    const since = performance.now();
    await operate();
    taken.push((performance.now() - since) / 1000);
  }
  return taken.sort((a, b) => a - b)[(rounds - 1) / 2];
}

function rowOf(cells) {
  return cells.map((cell) => String(cell).padStart(11)).join('');
}
