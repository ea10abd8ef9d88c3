import { describe, expect, test, vi } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { F, nn, NnError, Parameter, Tensor, tensor } from '../../src/index.ts';
import { sqrt } from '../../src/ops/elementwise.ts';
import '../support/one-thread.ts';

const vector = (...values: number[]) => new Parameter(Float32Array.from(values), [values.length]);
const rootOf = (x: Tensor) => new Tensor(sqrt(x.value));

class Net extends nn.Module {
  readonly first = new nn.Linear(2, 3);
  readonly second = new nn.Linear(3, 2);

  forward(input: Tensor): Tensor {
    return this.second.forward(F.relu(this.first.forward(input)).log()).sum();
  }
}

async function anomaly(loss: Tensor): Promise<string> {
  const error: unknown = await loss.backward({ detectAnomaly: true }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(NnError);
  expect(error).toMatchObject({ code: 'ERR_NONFINITE' });
  return (error as NnError).message;
}

describe('names', () => {
  test('the operator that produced the first NaN from finite numbers', async () => {
    const x = vector(1, -2, 3, -4);
    const loss = x.mul(2).log().exp().relu().add(1).mean();
    expect(await anomaly(loss)).toBe(
      'backward: the loss is NaN. Log produced NaN in 2 of 4 elements (the first at 1) from finite inputs: float32[4].',
    );
  });

  test('an operator that overflows', async () => {
    const x = vector(1, 100);
    expect(await anomaly(x.exp().mul(2).sum())).toBe(
      'backward: the loss is Infinity. Exp produced Infinity in 1 of 2 elements (the first at 1) from finite inputs: a parameter float32[2].',
    );
  });

  test('the module before the operator', async () => {
    const net = new Net();
    net.first.bias!.data.fill(-100);
    expect([...net.parameters()]).toHaveLength(4);
    const message = await anomaly(net.forward(tensor(Float32Array.of(1, 2), [1, 2])));
    expect(message).toContain(
      'Log after first produced -Infinity in 3 of 3 elements (the first at 0) from finite',
    );
  });

  test('the operator’s module, and its parameters', async () => {
    const net = new Net();
    net.second.weight.data.fill(3e38);
    net.first.bias!.data.fill(10);
    expect([...net.parameters()]).toHaveLength(4);
    const message = await anomaly(net.forward(tensor(Float32Array.of(1, 2), [1, 2])));
    expect(message).toContain(
      'Gemm in second produced Infinity in 2 of 2 elements (the first at 0) from finite inputs: float32[1,3], parameter second.weight float32[2,3], parameter second.bias float32[2].',
    );
  });

  test('a parameter that is not finite itself', async () => {
    const net = new Net();
    net.first.weight.data[4] = NaN;
    expect([...net.parameters()]).toHaveLength(4);
    const message = await anomaly(net.forward(tensor(Float32Array.of(1, 2), [1, 2])));
    expect(message).toContain(
      'Parameter first.weight float32[3,2] holds NaN in 1 of 6 elements (the first at 4).',
    );
  });

  test('an input that is not finite', async () => {
    const batch = tensor(Float32Array.of(1, Infinity));
    expect(await anomaly(vector(1, 2).mul(batch).sum())).toContain(
      'A tensor float32[2] holds Infinity in 1 of 2',
    );
  });

  test('the operator whose gradient is not finite although the loss is', async () => {
    const x = vector(4, 0, 1);
    expect(await anomaly(rootOf(x).sum())).toMatch(
      /^backward: the loss is finite, but the gradient of a parameter float32\[3\] is Infinity\. In the gradient of Sqrt \(inputs: a parameter float32\[3\]\), Div produced Infinity in 1 of 3 elements \(the first at 1\) from finite inputs: float32\[3\], float32\[3\]\.$/,
    );
  });

  test('no operator that a mask excludes from the loss', async () => {
    const x = vector(-1, 100);
    // max(exp x, 0)'s infinity times 0 is NaN; log(−1) = NaN does not reach it.
    const unused = x.log();
    const loss = x
      .exp()
      .mul(tensor(Float32Array.of(1, 0)))
      .sum();
    expect(await anomaly(loss)).toContain('Exp produced Infinity');
    expect((await unused.array())[0]).toBeNaN();
  });
});

test('reports an overflow that occurs only in the compiled order of operations', async () => {
  const images = tensor(new Float32Array(16 * 8 * 50).fill(3e38), [16, 8, 5, 10]);
  const weight = new Parameter(new Float32Array(4 * 8 * 9).fill(1e-38), [4, 8, 3, 3]);
  const loss = F.conv2d(images, weight).mul(1e-30).sum();
  expect(await anomaly(loss)).toContain('it is finite when each operator is computed separately');
});

describe('changes nothing:', () => {
  test('keeps earlier gradients, and creates none', async () => {
    const [x, y] = [vector(1, -1), vector(2, 2)];
    await x.sum().backward();
    await anomaly(x.mul(y).log().sum());
    expect([...x.grad!]).toEqual([1, 1]);
    expect(y.grad).toBeUndefined();
  });

  test('the loss can be recomputed after its inputs are repaired', async () => {
    const x = vector(1, -1);
    const loss = x.log().sum();
    await anomaly(loss);
    x.data[1] = 2;
    await loss.backward({ detectAnomaly: true });
    expect([...x.grad!]).toEqual([1, 0.5]);
  });

  test('without an anomaly, gradients are equal and nothing more is compiled', async () => {
    const x = vector(3, 4);
    await x.exp().mean().backward();
    const expected = [...x.grad!];
    const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
    x.zeroGrad();
    await x.exp().mean().backward({ detectAnomaly: true });
    expect([...x.grad!]).toEqual(expected);
    expect(compile).not.toHaveBeenCalled();
    compile.mockRestore();
  });
});

test('without detectAnomaly, NaN propagates, as in torch', async () => {
  const x = vector(-1);
  const loss = x.log().sum();
  await loss.backward();
  expect(await loss.item()).toBeNaN();
  expect([...x.grad!]).toEqual([-1]);
});
