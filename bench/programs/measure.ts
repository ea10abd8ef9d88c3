// Steps of a program: `node --import tsx measure.ts NAME STEPS`, with the launcher for f1. Rank 0 prints JSON: the
// milliseconds of the first step, which compiles, per later step its milliseconds and those of the processor, the
// peak memory in bytes, all losses, and the score.
import { destroyProcessGroup, getRank, isInitialized } from 'ringrun';
import { peakMemory } from '../support.js';
import type { Program } from './program.ts';

const [name, count] = process.argv.slice(2);
const steps = Number(count);
const { start } = (await import(`./${name}.ts`)) as { start: () => Program | Promise<Program> };
const program = await start();
const losses: number[] = [];
const created = performance.now();
losses.push(await program.step());
const first = performance.now() - created;
// Programs are compiled for the kinds of steps that there are.
const warmUp = Math.ceil(steps / 4);
while (losses.length < warmUp) losses.push(await program.step());
const [began, used] = [performance.now(), process.cpuUsage()];
while (losses.length < steps) losses.push(await program.step());
const { user, system } = process.cpuUsage(used);
const milliseconds = (performance.now() - began) / (steps - warmUp);
const processor = (user + system) / 1e3 / (steps - warmUp);
const score = program.score ? await program.score() : losses.at(-1);
const isFirst = !isInitialized() || getRank() === 0;
if (isInitialized()) await destroyProcessGroup();
if (isFirst)
  console.log(JSON.stringify({ first, milliseconds, processor, memory: peakMemory(), score, losses }));
