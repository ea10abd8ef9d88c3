import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError } from '../errors/errors.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';
import { initialize, requireNumbers, type Initializable } from './in-place.ts';

/** Fills with `value` (torch.nn.init.constant_). Returns the tensor. */
export function constant<T extends Initializable>(
  ...given: Call<[tensor: T, val: number], 'nn.init.constant'>
): T {
  const [tensor, value] = arranged('nn.init.constant', given);
  requireNumbers('constant', { value });
  return initialize('constant', tensor, (data) => data.fill(value));
}

/** Fills with 1 (torch.nn.init.ones_). Returns the tensor. */
export function ones<T extends Initializable>(...given: Call<[tensor: T], 'nn.init.ones'>): T {
  const [tensor] = arranged('nn.init.ones', given);
  return initialize('ones', tensor, (data) => data.fill(1));
}

/** Fills with 0 (torch.nn.init.zeros_). Returns the tensor. */
export function zeros<T extends Initializable>(...given: Call<[tensor: T], 'nn.init.zeros'>): T {
  const [tensor] = arranged('nn.init.zeros', given);
  return initialize('zeros', tensor, (data) => data.fill(0));
}

/** Fills a matrix with the identity: ones where row and column are equal (torch.nn.init.eye_). Returns the tensor. */
export function eye<T extends Initializable>(...given: Call<[tensor: T], 'nn.init.eye'>): T {
  const [tensor] = arranged('nn.init.eye', given);
  return initialize(
    'eye',
    tensor,
    (data) => {
      const [rows, columns] = tensor.shape;
      data.fill(0);
      for (let i = 0; i < Math.min(rows, columns); i += 1) data[i * columns + i] = 1;
    },
    [2, 2],
  );
}

/**
 * Fills the weight of a convolution, [out, in, …kernel], so that it returns its input: the middle of the kernel of channel i
 * is 1 for channel i of each group (torch.nn.init.dirac_). Returns the tensor.
 *
 * - `groups`: of the convolution; divides the output channels. Default: 1.
 */
export function dirac<T extends Initializable>(
  ...given: Call<[tensor: T, groups?: number | undefined], 'nn.init.dirac'>
): T {
  const [tensor, groups = 1] = arranged('nn.init.dirac', given);
  requirePositiveInteger('nn.init.dirac', { groups });
  return initialize(
    'dirac',
    tensor,
    (data) => {
      const [out, input, ...kernel] = tensor.shape;
      if (out % groups !== 0) {
        throw new ArgumentError(
          `nn.init.dirac: groups must divide the ${out} output channels, got ${groups} groups.`,
        );
      }
      const size = kernel.reduce((product, length) => product * length, 1);
      const middle = kernel.reduce((position, length) => position * length + Math.floor(length / 2), 0);
      const perGroup = out / groups;
      data.fill(0);
      for (let channel = 0; channel < out; channel += 1) {
        const own = channel % perGroup;
        if (own < input) data[(channel * input + own) * size + middle] = 1;
      }
    },
    [3, 5],
  );
}
