// Simulates jobs of many nodes with the real rendezvous, and prints a row of a table for each number of nodes:
// `npm run bench:rendezvous -- [nodes…]`. Default: 16 to 256.
import { cpus } from 'node:os';
import { agreement } from '../../packages/rendezvous/test/scale/recovery.ts';
import { death, flapping, form, straggler } from '../../packages/rendezvous/test/scale/scenarios.ts';

const sizes = process.argv.slice(2).map(Number);
const scenarios = { form, death, straggler, flapping, agreement };

console.log(`On ${cpus()[0].model}\n`);
console.log('| nodes | scenario | time | messages per node | kB per node | simulated in |');
console.log('| -: | - | -: | -: | -: | -: |');
for (const nodes of sizes.length > 0 ? sizes : [16, 64, 256]) {
  for (const [name, scenario] of Object.entries(scenarios)) {
    const startedAt = performance.now();
    const { ms, messages, bytes } = await scenario({ seed: 1, nodes });
    const seconds = (performance.now() - startedAt) / 1000;
    const cells = [
      nodes,
      name,
      `${(ms / 1000).toFixed(2)} s`,
      messages.toFixed(0),
      (bytes / 1000).toFixed(1),
    ];
    console.log(`| ${[...cells, `${seconds.toFixed(1)} s`].join(' | ')} |`);
  }
}
