import { expect, test } from 'vitest';
import { autograd, F, nn, onesLike, optim, Parameter, tensor, type Tensor } from '../../src/index.ts';
import { fill, fillClasses } from '../support/fill.ts';
import { goldenFile } from '../support/golden-cases.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';
import { expectSummary, type Summary } from '../support/summary.ts';

// Programs that need gradients of gradients, or their own. Results of torch: test/golden/autograd.py.

interface Golden {
  readonly losses: readonly number[];
  readonly penalties: readonly number[];
  readonly parameters: readonly Summary[];
  readonly gradients: readonly Summary[];
  readonly products: readonly Summary[];
  readonly loss: number;
}

const golden = goldenFile('autograd') as Readonly<Record<string, Golden>>;

const input = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape);

function parametersOf(shapes: readonly (readonly number[])[], scale = 0.5): Parameter[] {
  return shapes.map(
    (shape, seed) =>
      new Parameter(
        fill(shape, seed).map((one) => one * scale),
        shape,
      ),
  );
}

function expectAll(
  what: string,
  found: readonly (Float32Array | undefined)[],
  expected: readonly Summary[],
): void {
  expect(found).toHaveLength(expected.length);
  for (const [index, one] of expected.entries()) expectSummary(`${what} ${index}`, found[index]!, one);
}

const dataOf = (trained: readonly Parameter[]) => trained.map(({ data }) => data);

test('the critic of a Wasserstein GAN with a gradient penalty trains as in torch', async () => {
  const trained = parametersOf([[3, 2, 3, 3], [3], [1, 27], [1]]);
  const [kernel, shift, weight, bias] = trained;
  const critic = (x: Tensor) => {
    const hidden = F.leakyRelu(F.conv2d(x, kernel, shift, { stride: 2, padding: 1 }), 0.2);
    return F.linear(F.layerNorm(hidden.flatten(1), [27]), weight, bias);
  };
  const optimizer = new optim.Adam(trained, { lr: 0.01, betas: [0, 0.9] });
  const { losses, penalties, parameters } = golden['wgan_gp'];
  for (const [step, expected] of losses.entries()) {
    const [real, fake] = [input([4, 2, 5, 5], 10 + step), input([4, 2, 5, 5], 20 + step)];
    const share = input([4, 1, 1, 1], 30 + step)
      .add(1)
      .div(2);
    const mixed = share.mul(real).add(share.neg().add(1).mul(fake)).requiresGrad_();
    const scores = critic(mixed);
    const [slopes] = autograd.grad(scores, mixed, { gradOutputs: onesLike(scores), createGraph: true });
    const penalty = slopes.flatten(1).norm(2, 1).sub(1).square().mean();
    const loss = critic(fake).mean().sub(critic(real).mean()).add(penalty.mul(10));
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
    expectClose(`loss ${step}`, [await loss.item()], [expected], 1e-5);
    expectClose(`penalty ${step}`, [await penalty.item()], [penalties[step]], 1e-4);
  }
  expectAll('parameter', dataOf(trained), parameters);
});

test('MAML learns through its inner step as in torch', async () => {
  const trained = parametersOf([[8, 1], [8], [1, 8], [1]]);
  const optimizer = new optim.SGD(trained, { lr: 0.1 });
  const predicted = (x: Tensor, [w1, b1, w2, b2]: readonly Tensor[]) =>
    F.linear(F.linear(x, w1, b1).tanh(), w2, b2);
  const { losses, parameters } = golden['maml'];
  for (const [step, expected] of losses.entries()) {
    const ofTasks = [0, 1].map((task) => {
      const [x, y, otherX, otherY] = [0, 1, 2, 3].map((part) =>
        input([6, 1], 40 + 8 * step + 4 * task + part),
      );
      const inner = F.mseLoss(predicted(x, trained), y);
      const slopes = autograd.grad(inner, trained, { createGraph: true });
      const adapted = trained.map((one, index) => one.sub(slopes[index].mul(0.2)));
      return F.mseLoss(predicted(otherX, adapted), otherY);
    });
    const loss = ofTasks[0].add(ofTasks[1]);
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
    expectClose(`loss ${step}`, [await loss.item()], [expected], 1e-5);
  }
  expectAll('parameter', dataOf(trained), parameters);
});

test('the product of a Hessian and a vector equals torch’s by both orders of the passes', async () => {
  const weights = [input([5, 4], 1), input([3, 5], 2)];
  const v = [input([5, 4], 3), input([3, 5], 4)];
  const [x, classes] = [input([6, 4], 5), tensor(fillClasses(6, 3, 1))];
  const lossOf = (w1: Tensor, w2: Tensor) => F.crossEntropy(F.linear(F.gelu(F.linear(x, w1)), w2), classes);
  const [loss, products] = autograd.functional.hvp(lossOf, weights, v);
  const { loss: expected, products: expectedProducts } = golden['hessian_vector'];
  expectClose('loss', [await loss.item()], [expected], 1e-5);
  expectAll('product', await arraysOf(products), expectedProducts);
  // Forward over reverse: the derivative of the gradient along v.
  const gradientOf = (...ws: Tensor[]) => autograd.grad(lossOf(ws[0], ws[1]), ws, { createGraph: true });
  const [, along] = autograd.functional.jvp(gradientOf, weights, v);
  expectAll('derivative', await arraysOf(along), expectedProducts);
});

class Binarize extends autograd.Function {
  static forward(context: autograd.FunctionContext, x: Tensor, limit: number): Tensor {
    context.saveForBackward(x);
    context['limit'] = limit;
    return x.sign();
  }

  static backward(context: autograd.FunctionContext, gradient: Tensor): autograd.FunctionGradients {
    const [x] = context.savedTensors;
    return [
      gradient.mul(
        x
          .abs()
          .le(context['limit'] as number)
          .float(),
      ),
      undefined,
    ];
  }
}

test('binary weights train by a straight-through estimator as in torch', async () => {
  const [weight] = parametersOf([[3, 4]], 1);
  const optimizer = new optim.SGD([weight], { lr: 0.5, momentum: 0.9 });
  const { losses, parameters } = golden['straight_through'];
  for (const [step, expected] of losses.entries()) {
    const loss = F.mseLoss(
      F.linear(input([5, 4], 60 + step), Binarize.apply(weight, 0.8)),
      input([5, 3], 70 + step),
    );
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
    expectClose(`loss ${step}`, [await loss.item()], [expected], 1e-5);
  }
  expectAll('parameter', [weight.data], parameters);
});

test('hooks of tensors and modules see and change the gradients as in torch', async () => {
  const [first, second] = [new nn.Linear(2, 3, { bias: false }), new nn.Linear(3, 2, { bias: false })];
  first.weight.data.set(fill([3, 2], 0));
  second.weight.data.set(fill([2, 3], 1));
  const tanh = new nn.Tanh();
  const seen: Tensor[] = [];
  tanh.registerFullBackwardHook((_, [gradInput], [gradOutput]) => {
    seen.push(gradInput!, gradOutput!);
    return gradInput!.mul(3);
  });
  first.weight.registerHook((gradient) => gradient.add(1));
  const x = input([4, 2], 9).requiresGrad_();
  const hidden = first.forward(x);
  hidden.retainGrad();
  await second.forward(tanh.forward(hidden)).square().sum().backward();
  const found = [hidden.grad, x.grad, first.weight.grad, second.weight.grad];
  expectAll('gradient', [...(await arraysOf(seen)), ...found], golden['hooks'].gradients);
});

test('gradients of several passes add up, also those of a tensor that retains them', async () => {
  const x = input([3], 1).requiresGrad_();
  const y = x.mul(x);
  y.retainGrad();
  await y.sum().backward({ retainGraph: true });
  await y.backward(input([3], 2));
  expectAll('gradient', [x.grad, y.grad], golden['accumulation'].gradients);
});

async function arraysOf(tensors: readonly Tensor[]): Promise<Float32Array[]> {
  return await Promise.all(tensors.map(async (one) => (await one.array()) as Float32Array));
}
