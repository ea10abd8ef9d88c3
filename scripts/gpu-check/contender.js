// One contender of the comparison: `node contender.js NAME MODE DTYPE`, a worker of bench/worker.js. MODE is `await`, in which
// each step is awaited, or `each`, in which steps follow without JavaScript in between. Answers { steps } with { ms }, of one step;
// { steps, mode } for another mode.
import { backends } from '@ringrun/nn';
import { answerLines } from '../../bench/worker.js';
import { trainingOf } from './trainings.js';

const [name, mode, dtype] = process.argv.slice(2);
const autocast = dtype === 'bfloat16' ? { autocast: 'bfloat16' } : {};
backends.cudnn.benchmark = true;
const { step, batches } = trainingOf(name, { traceOnce: true, ...autocast });
// The first runs are direct and recorded.
await run(4, mode);
await answerLines(async ({ steps, mode: asked = mode }) => {
  const start = performance.now();
  await run(steps, asked);
  return { ms: (performance.now() - start) / steps };
});
// Not to wait for the threads of libraries.
process.exit();

async function run(steps, way) {
  let last;
  if (way === 'each') {
    last = (await step.each(Array.from({ length: steps }, (_, i) => batches[i % batches.length]))).at(-1);
  } else for (let i = 0; i < steps; i += 1) last = await step(...batches[i % batches.length]);
  await last.item();
}
