// The computation of PowerSGD in one step on one rank, without a network:
//
//   node bench/hooks/power-sgd.js [rank] [rounds]
//
// The gradients are those of a network 784 → 512 → 512 → 10: 669,706 parameters. Prints the median of the rounds.
import { commHooks } from 'ringrun';
import { median } from '../support.js';

const [matrixApproximationRank, rounds] = [4, 101].map((otherwise, i) =>
  Number(process.argv[2 + i] ?? otherwise),
);
const shapes = [[10], [10, 512], [512], [512, 512], [512], [512, 784]];
const lengths = shapes.map((shape) => shape.reduce((product, size) => product * size));
const data = new Float32Array(lengths.reduce((sum, length) => sum + length));
const begins = lengths.map((_, i) => lengths.slice(0, i).reduce((sum, length) => sum + length, 0));
const views = lengths.map((length, i) => data.subarray(begins[i], begins[i] + length));
const bucket = {
  index: 0,
  isLast: true,
  data,
  parameters: shapes.map((shape) => ({ shape })),
  gradients: () => views,
};
/** Ranks with equal gradients. */
const group = { allReduceSync: () => undefined };
const hook = commHooks.powerSgd({ matrixApproximationRank, startPowerSgdIter: 0 });

const times = [];
for (let round = -5; round < rounds; round += 1) {
  for (let i = 0; i < data.length; i += 1) data[i] = Math.sin(i + round);
  const since = performance.now();
  hook.sync(bucket, group);
  if (round >= 0) times.push(performance.now() - since);
}
console.log(
  `${data.length} parameters at rank ${matrixApproximationRank}: ${median(times).toFixed(2)} ms, ` +
    `from ${Math.min(...times).toFixed(2)} to ${Math.max(...times).toFixed(2)} ms in ${rounds} steps`,
);
