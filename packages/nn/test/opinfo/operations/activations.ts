import { F, type Tensor } from '../../../src/index.ts';
import type { Given } from '../given.ts';
import { op, type Operation } from '../operation.ts';

/** A function of a tensor; torch's `inplace` changes no element of the result. */
const activation = (names: string, call: (x: Tensor, given: Given) => Tensor): Operation =>
  op(names, (x, given) => {
    given.ignore('inplace');
    return call(x, given);
  });

/** torch converts the elements to `dtype` first. */
function converted(x: Tensor, given: Given): Tensor {
  const dtype = given.dtype('dtype');
  return dtype === undefined ? x : x.to(dtype);
}

/** torch.nn.functional: functions of each element. */
export const activations: Readonly<Record<string, Operation>> = {
  'nn.functional.relu6': activation('', (x) => F.relu6(x)),
  'nn.functional.leaky_relu': activation('negative_slope', (x, g) =>
    F.leakyRelu(x, g.number('negative_slope')),
  ),
  'nn.functional.elu': activation('alpha', (x, g) => F.elu(x, g.number('alpha'))),
  'nn.functional.celu': activation('alpha', (x, g) => F.celu(x, g.number('alpha'))),
  'nn.functional.selu': activation('', (x) => F.selu(x)),
  'nn.functional.gelu': activation('', (x, g) =>
    F.gelu(x, { approximate: (g.string('approximate') as 'none' | undefined) ?? 'none' }),
  ),
  'nn.functional.silu': activation('', (x) => F.silu(x)),
  'nn.functional.mish': activation('', (x) => F.mish(x)),
  'nn.functional.glu': activation('dim', (x, g) => F.glu(x, g.number('dim'))),
  'nn.functional.hardsigmoid': activation('', (x) => F.hardsigmoid(x)),
  'nn.functional.hardswish': activation('', (x) => F.hardswish(x)),
  'nn.functional.hardtanh': activation('min_val max_val', (x, g) =>
    F.hardtanh(x, g.number('min_val'), g.number('max_val')),
  ),
  'nn.functional.hardshrink': activation('lambd', (x, g) => F.hardshrink(x, g.number('lambd'))),
  'nn.functional.softshrink': activation('lambd', (x, g) => F.softshrink(x, g.number('lambd'))),
  'nn.functional.tanhshrink': activation('', (x) => F.tanhshrink(x)),
  'nn.functional.logsigmoid': activation('', (x) => F.logsigmoid(x)),
  'nn.functional.softplus': activation('beta threshold', (x, g) =>
    F.softplus(x, {
      ...(g.has('beta') && { beta: g.number('beta')! }),
      ...(g.has('threshold') && { threshold: g.number('threshold')! }),
    }),
  ),
  'nn.functional.softsign': activation('', (x) => F.softsign(x)),
  'nn.functional.softmin': activation('dim', (x, g) => F.softmin(converted(x, g), g.number('dim')!)),
  'nn.functional.threshold': activation('threshold value', (x, g) =>
    F.threshold(x, g.number('threshold')!, g.number('value')!),
  ),
  'nn.functional.prelu': activation('weight', (x, g) => F.prelu(x, g.tensor('weight'))),
};
