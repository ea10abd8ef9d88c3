// Attention of ringrun for run.js, by lines of JSON: `shape`, `causal`, `masked` and `bfloat16` (autocast). A pass computes
// the output, its weighted sum, and the gradients of query, key and value.
import * as nn from '@ringrun/nn';
import { withAutocast } from '../support.js';
import { answerLines, millisecondsOf } from '../worker.js';

const { F, Parameter, optim, tensor } = nn;

await answerLines(async ({ shape, causal, masked, bfloat16 }) => {
  const length = shape.at(-2);
  const [query, key, value] = [1, 2, 3].map((seed) => new Parameter(elements(shape, seed), shape));
  const optimizer = new optim.SGD([query, key, value], { lr: 0 });
  const weights = tensor(elements(shape, 4), shape);
  const options = masked ? { attnMask: maskOf(length) } : { isCausal: causal };
  const pass = async () => {
    optimizer.zeroGrad();
    const attended = withAutocast(nn, bfloat16, () =>
      F.scaledDotProductAttention(query, key, value, options),
    );
    await attended.mul(weights).sum().backward();
  };
  return { milliseconds: await millisecondsOf(pass) };
});

/** Hides every third key, never a query's own. */
function maskOf(length) {
  const isSeen = (_, i) => Number(i % length === Math.floor(i / length) || (i % length) % 3 !== 0);
  return tensor(Float32Array.from({ length: length ** 2 }, isSeen), [length, length]).ne(0);
}

function elements(shape, seed) {
  const length = shape.reduce((product, size) => product * size);
  return Float32Array.from({ length }, (_, i) => Math.sin(i * 12.9898 + seed));
}
