import { describe, expect, test } from 'vitest';
import { ArgumentError, compileStep, exportOnnx, F, nn, optim, Parameter, tensor } from '../../src/index.ts';
import type { Tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

// Elements that are not probabilities are rejected as in torch: those of a tensor at the call, computed ones when the graph runs.

const floats = (...numbers: number[]) => tensor(Float32Array.from(numbers));
/** The same elements, unknown at the call. */
const computed = (x: Tensor) => x.mul(floats(1));

const failureOf = async (run: () => Promise<unknown>): Promise<unknown> => {
  try {
    return await run();
  } catch (error) {
    return error;
  }
};

const places: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  probabilities: (p) => F.binaryCrossEntropy(p, floats(1, 0)),
  targets: (t) => new nn.BCELoss().forward(floats(0.5, 0.25), t),
};

describe.each(Object.entries(places))('%s of binaryCrossEntropy', (what, loss) => {
  test.each([
    ['2', 2],
    ['-0.1', -0.1],
    ['-9.99995e-41', -1e-40],
    ['NaN', NaN],
    ['Infinity', Infinity],
    ['-Infinity', -Infinity],
  ])('%s is rejected, known or computed', async (written, number) => {
    const error = new ArgumentError(
      `binaryCrossEntropy: expected ${what} from 0 to 1, got ${written} at index 1.`,
    );
    expect(await failureOf(() => loss(floats(0, number)).item())).toEqual(error);
    expect(await failureOf(() => loss(computed(floats(0, number))).item())).toEqual(error);
    expect(await failureOf(() => loss(new Parameter(Float32Array.of(0, number), [2])).item())).toEqual(error);
  });

  test.each([0, -0, 1e-40, 1])('%d is accepted, known or computed', async (number) => {
    const known = await loss(floats(number, 0.5)).item();
    expect(Number.isFinite(known)).toBe(true);
    expect(await loss(computed(floats(number, 0.5))).item()).toBe(known);
  });
});

test('a compiled step rejects a wrong target or probability, and changes nothing', async () => {
  const weight = new Parameter(Float32Array.of(0.5), [1]);
  const step = compileStep(new optim.SGD([weight], { lr: 0.1 }), (x: Tensor, t: Tensor) =>
    F.binaryCrossEntropy(weight.mul(x), t),
  );
  await step(floats(1), floats(1));
  const before = [...weight.data];
  await expect(step(floats(1), floats(1.5))).rejects.toThrow(
    'expected targets from 0 to 1, got 1.5 at index 0.',
  );
  await expect(step(floats(-8), floats(1))).rejects.toThrow('expected probabilities from 0 to 1, got ');
  expect([...weight.data]).toEqual(before);
  await step(floats(1), floats(1));
  expect(weight.data[0]).toBeGreaterThan(before[0]);
});

test('saturated probabilities have a finite gradient, their targets do not', async () => {
  const p = new Parameter(Float32Array.of(1, 0, 0.25), [3]);
  const t = new Parameter(Float32Array.of(1, 0.5, 0.5), [3]);
  const loss = F.binaryCrossEntropy(p, t, { reduction: 'none' });
  await loss.sum().backward();
  const losses = [...(await loss.array())];
  // −0, as in torch.
  expect(losses.slice(0, 2)).toEqual([-0, 50]);
  expect(losses[2]).toBeCloseTo(0.837, 4);
  expect(p.grad![0]).toBe(0);
  expect(p.grad![1]).toBeCloseTo(-5e11, -8);
  expect(p.grad![2]).toBeCloseTo(-4 / 3, 5);
  expect([...t.grad!].slice(0, 2)).toEqual([-Infinity, Infinity]);
  expect(t.grad![2]).toBeCloseTo(Math.log(3), 5);
});

test('an exported model has no operator of the addon', () => {
  class Loss extends nn.Module {
    forward(x: Tensor): Tensor {
      return F.binaryCrossEntropy(x.sigmoid(), floats(0, 1));
    }
  }
  const bytes = exportOnnx(new Loss(), { inputs: [{ shape: [2], fixed: true }] });
  expect(Buffer.from(bytes).includes('CheckProbabilities')).toBe(false);
});
