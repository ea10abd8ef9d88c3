import { expect, test } from 'vitest';
import { distributions, F, nn, optim, ones, Parameter, Tensor } from '../../src/torch-names/entry.ts';

const x: unknown = ones([2, 3]);
const normal: unknown = new distributions.Normal(0, 1);
const layer: unknown = new nn.Linear(2, 3);
const optimizer: unknown = new optim.SGD([new Parameter(new Float32Array(1), [1])], { lr: 0.1 });

/** The property of an object, as JavaScript reads it. */
const read = (object: unknown, name: string): unknown => (object as Record<string, unknown>)[name];

test.each([
  [x, 'x', 'masked_fill', 'Use x.maskedFill.'],
  [x, 'x', 'numpy', 'Use await x.array().'],
  [x, 'x', 'add_', 'Operations return new tensors: write x = x.add(…).'],
  [x, 'x', 'masked_fill_', 'Operations return new tensors: write x = x.maskedFill(…).'],
  [x, 'x', 'cuda', "Tensors are copied to the device of their model, module.to('cuda'): remove the call."],
  [layer, 'module', 'state_dict', 'Use module.stateDict.'],
  [layer, 'module', 'cuda', "Use module.to('cuda')."],
  [optimizer, 'optimizer', 'zero_grad', 'Use optimizer.zeroGrad.'],
  [F, 'F', 'cross_entropy', 'Use F.crossEntropy.'],
  [
    nn,
    'nn',
    'DataParallel',
    'Use `DistributedDataParallel` of ringrun, with a process for each part of the batch.',
  ],
  [distributions, 'distributions', 'kl_divergence', 'Use distributions.klDivergence.'],
  [normal, 'distribution', 'log_prob', 'Use distribution.logProb.'],
  [normal, 'distribution', 'batch_shape', 'Use distribution.batchShape.'],
  [optim, 'optim', 'lr_scheduler', 'Use optim.lrScheduler.'],
])('%#: reading it throws an error with ringrun’s name', (object, owner, name, replacement) => {
  expect(() => read(object, name)).toThrow(
    `${owner}.${name}: expected a name of ringrun, got one of PyTorch. ${replacement}`,
  );
});

test('other names are undefined, and a module may have properties of these names', () => {
  expect(read(x, 'then')).toBeUndefined();
  expect(read(nn, 'Nothing')).toBeUndefined();
  class Net extends nn.Module {
    cuda: string;
    double = 2;
    constructor() {
      super();
      this.cuda = 'there';
    }
    forward(): Tensor {
      return ones([1]);
    }
  }
  expect(new Net()).toMatchObject({ cuda: 'there', double: 2 });
});
