// Prints by how many MiB a forward and backward pass of attention over this many tokens raises the peak of memory.
import { F, Parameter } from '@ringrun/nn';

const shape = [1, 4, Number(process.argv[2]), 32];
const [query, key, value] = [1, 2, 3].map(
  (seed) =>
    new Parameter(
      Float32Array.from({ length: 4 * shape[2] * 32 }, (_, i) => Math.sin(seed * i)),
      shape,
    ),
);
const peak = () => process.resourceUsage().maxRSS / 1024;
const before = peak();
const attended = F.scaledDotProductAttention(query, key, value, { isCausal: true, dropoutP: 0.1 });
await attended.mul(attended).sum().backward();
console.log(peak() - before);
