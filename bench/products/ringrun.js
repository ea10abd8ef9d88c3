// Products of ringrun for run.js, by lines of JSON: `way` (matmul or linear), `rows`, `inner`, `columns`, `bfloat16` and
// `pairs`. The chain is one program: tracing it takes 2 µs for a product.
import * as nn from '@ringrun/nn';
import { withAutocast } from '../support.js';
import { answerLines, millisecondsOf } from '../worker.js';

const { F, noGrad, tensor } = nn;

await answerLines(async ({ way, rows, inner, columns, bfloat16, pairs }) => {
  const isLinear = way === 'linear';
  const x = matrix(rows, inner);
  // F.linear reads the weight transposed.
  const there = isLinear ? matrix(columns, inner) : matrix(inner, columns);
  const back = isLinear ? matrix(inner, columns) : matrix(columns, inner);
  const multiply = (y, weight) => (isLinear ? F.linear(y, weight) : y.matmul(weight));
  const chain = () =>
    noGrad(() =>
      withAutocast(nn, bfloat16, () => {
        let y = x;
        for (let i = 0; i < pairs; i += 1) y = multiply(multiply(y, there), back);
        return y.narrow(0, 0, 1).narrow(1, 0, 1);
      }),
    ).item();
  return { milliseconds: await millisecondsOf(chain) };
});

/** Pseudorandom elements of a variance that keeps products from growing and from vanishing into denormals. */
function matrix(...shape) {
  const length = shape[0] * shape[1];
  const scale = Math.sqrt(12 / shape[0]);
  const values = Float32Array.from({ length }, (_, i) => {
    const number = Math.sin(i * 12.9898) * 43758.5453;
    return (number - Math.floor(number) - 0.5) * scale;
  });
  return tensor(values, shape);
}
