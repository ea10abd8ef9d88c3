// Simulates jobs of many nodes with the real rendezvous, and prints a row of a table for each number of nodes:
// `npm run bench:rendezvous -- [scenario…] [nodes…]`. Default: all scenarios, 16 to 256 nodes.
import { cpus } from 'node:os';
import { agreement, rankInfos } from '../../packages/rendezvous/test/scale/recovery.ts';
import { death, flapping, form, idle, straggler } from '../../packages/rendezvous/test/scale/scenarios.ts';

const words = process.argv.slice(2);
const sizes = words.filter((word) => /^\d+$/.test(word)).map(Number);
const scenarios = { form, idle, death, straggler, flapping, agreement, rankInfos };

const names = words.filter((word) => word in scenarios);

console.log(`On ${cpus()[0].model}\n`);
console.log('| nodes | scenario | time | messages per node | kB per node | simulated in |');
console.log('| -: | - | -: | -: | -: | -: |');
for (const nodes of sizes.length > 0 ? sizes : [16, 64, 256]) {
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (names.length > 0 && !names.includes(name)) continue;
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
