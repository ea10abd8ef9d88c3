import { describe, expect, test } from 'vitest';
import { ArgumentError, F, nn, optim, Parameter, tensor, type Tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

class Hiding extends nn.Module {
  readonly #hidden = new nn.Linear(2, 3);
  readonly out = new nn.Linear(3, 1);

  forward(x: Tensor): Tensor {
    return this.out.forward(this.#hidden.forward(x));
  }
}

class Net extends nn.Module {
  readonly body = new nn.Linear(2, 3);
  readonly head = new nn.Linear(3, 1);

  forward(x: Tensor): Tensor {
    return this.head.forward(F.relu(this.body.forward(x)));
  }
}

const x = tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
const lossOf = (model: Net | Hiding) => model.forward(x).mean();

describe('a layer in a #private field', () => {
  test('is an error at the step, which changes nothing', async () => {
    const model = new Hiding();
    const optimizer = new optim.SGD(model.parameters(), { lr: 1 });
    const before = model.out.weight.data.slice();
    await lossOf(model).backward();
    const step = optimizer.step();
    await expect(step).rejects.toThrow(ArgumentError);
    await expect(step).rejects.toThrow(
      'step: a parameter (float32[3]), a parameter (float32[3,2]) has a gradient but would not be trained: no module lists it and no optimizer has it. ' +
        'Its layer is probably in a #private field, where parameters() cannot find it: use a public field or nn.ModuleList.',
    );
    expect(model.out.weight.data).toEqual(before);
  });

  test('is trained if a module’s own parameters() lists it', async () => {
    class Listing extends nn.Module {
      readonly #hidden = new nn.Linear(2, 1);
      override namedParameters(): [string, Parameter][] {
        return this.#hidden.namedParameters('hidden');
      }
      forward(input: Tensor): Tensor {
        return this.#hidden.forward(input);
      }
    }
    const model = new Listing();
    const optimizer = new optim.SGD(model.parameters(), { lr: 1 });
    await model.forward(x).mean().backward();
    await optimizer.step();
  });

  test('is named if the model has no other parameters', () => {
    class Hidden extends nn.Module {
      readonly #only = new nn.Linear(2, 1);
      forward(input: Tensor): Tensor {
        return this.#only.forward(input);
      }
    }
    expect(() => new optim.SGD(new Hidden().parameters(), { lr: 1 })).toThrow(
      'finds layers in public fields, not in #private ones',
    );
  });
});

describe('no error is', () => {
  test('fine-tuning a part of a model that was listed', async () => {
    const model = new Net();
    model.loadStateDict(model.stateDict());
    const optimizer = new optim.SGD(model.head.parameters(), { lr: 1 });
    await lossOf(model).backward();
    await optimizer.step();
    expect(model.body.weight.grad).toBeDefined();
  });

  test('a parameter of another optimizer, even if it has released it', async () => {
    const [a, b] = [new Parameter(Float32Array.of(1), [1]), new Parameter(Float32Array.of(2), [1])];
    const first = new optim.SGD([a], { lr: 1 });
    const second = new optim.SGD([b], { lr: 1 });
    await a.mul(b).sum().backward();
    await first.step();
    second.release();
    await first.step();
    expect(a.data[0]).toBe(-3);
  });

  test('a gradient from another pass, in noGrad, or reset before the step', async () => {
    const weight = new Parameter(Float32Array.of(3), [1]);
    const optimizer = new optim.SGD([weight], { lr: 1 });
    const input = new Parameter(Float32Array.of(2), [1]);
    await weight.mul(input).sum().backward();
    await expect(optimizer.step()).rejects.toThrow('a parameter (float32[1]) has a gradient');
    input.zeroGrad();
    await optimizer.step();
    await input.mul(2).sum().backward();
    await weight.mul(input.detach()).sum().backward();
    await optimizer.step();
    expect(weight.data[0]).toBe(3 - 2 - 4);
  });
});
