import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { glu } from '../functional/activation.ts';
import {
  celu,
  elu,
  hardshrink,
  hardsigmoid,
  hardswish,
  hardtanh,
  logsigmoid,
  mish,
  prelu,
  relu6,
  selu,
  softplus,
  softshrink,
  softsign,
  tanhshrink,
  threshold,
  type SoftplusOptions,
} from '../functional/piecewise-activation.ts';
import { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { InplaceActivation, type InplaceOptions } from './inplace-activation.ts';
import { Module } from './module.ts';
import { floatDefault, inplaceOf, writeArguments } from './repr.ts';
import { requireNumber } from '../checks/require-number.ts';

/** x if x > 0, else alpha·(exp x − 1) (torch.nn.ELU): see `F.elu`. */
export class ELU extends Module {
  readonly #alpha: number;
  readonly #inplace: boolean;

  constructor(...given: Call<[alpha?: number | undefined, options?: InplaceOptions | undefined], 'nn.ELU'>) {
    const [alpha = 1, { inplace = false }] = arranged('nn.ELU', given);
    super();
    requireNumber('ELU', { alpha });
    this.#alpha = alpha;
    this.#inplace = inplace;
  }

  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return elu(input, this.#alpha);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { alpha: floatDefault(this.#alpha, 1), ...inplaceOf(this.#inplace) });
  }
}

/** Scaled ELU, which keeps mean 0 and variance 1 (torch.nn.SELU): see `F.selu`. */
export class SELU extends InplaceActivation {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return selu(input);
  }
}

/** x if x > 0, else alpha·(exp(x/alpha) − 1) (torch.nn.CELU): see `F.celu`. */
export class CELU extends Module {
  readonly #alpha: number;
  readonly #inplace: boolean;

  constructor(...given: Call<[alpha?: number | undefined, options?: InplaceOptions | undefined], 'nn.CELU'>) {
    const [alpha = 1, { inplace = false }] = arranged('nn.CELU', given);
    super();
    requireNumber('CELU', { alpha });
    this.#alpha = alpha;
    this.#inplace = inplace;
  }

  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return celu(input, this.#alpha);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { alpha: floatDefault(this.#alpha, 1), ...inplaceOf(this.#inplace) });
  }
}

/** Clamps x to [min, max] (torch.nn.Hardtanh): see `F.hardtanh`. */
export class Hardtanh extends Module {
  readonly #min: number;
  readonly #max: number;
  readonly #inplace: boolean;

  constructor(
    ...given: Call<
      [minVal?: number | undefined, maxVal?: number | undefined, options?: InplaceOptions | undefined],
      'nn.Hardtanh'
    >
  ) {
    const [min = -1, max = 1, { inplace = false }] = arranged('nn.Hardtanh', given);
    super();
    requireNumber('Hardtanh', { min, max });
    this.#min = min;
    this.#max = max;
    this.#inplace = inplace;
  }

  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return hardtanh(input, this.#min, this.#max);
  }

  /** @internal */
  override extraRepr(): string {
    const [min, max] = [floatDefault(this.#min, -1), floatDefault(this.#max, 1)];
    return writeArguments([], { min_val: min, max_val: max, ...inplaceOf(this.#inplace) });
  }
}

/** min(max(x, 0), 6) (torch.nn.ReLU6). */
export class ReLU6 extends InplaceActivation {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return relu6(input);
  }
}

/** Piecewise linear approximation of the sigmoid (torch.nn.Hardsigmoid): see `F.hardsigmoid`. */
export class Hardsigmoid extends InplaceActivation {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return hardsigmoid(input);
  }

  /** @internal */
  override extraRepr(): string {
    return '';
  }
}

/** x·hardsigmoid(x) (torch.nn.Hardswish). */
export class Hardswish extends InplaceActivation {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return hardswish(input);
  }

  /** @internal */
  override extraRepr(): string {
    return '';
  }
}

/** x / (1 + |x|) (torch.nn.Softsign). */
export class Softsign extends Module {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return softsign(input);
  }
}

/** log(1 / (1 + exp(−x))) (torch.nn.LogSigmoid). */
export class LogSigmoid extends Module {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return logsigmoid(input);
  }
}

/** x·tanh(softplus(x)) (torch.nn.Mish). */
export class Mish extends InplaceActivation {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return mish(input);
  }
}

/** x − tanh x (torch.nn.Tanhshrink). */
export class Tanhshrink extends Module {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return tanhshrink(input);
  }
}

/** x moved towards 0 by lambda; 0 in [−lambda, lambda] (torch.nn.Softshrink): see `F.softshrink`. */
export class Softshrink extends Module {
  readonly #lambda: number;

  constructor(...given: Call<[lambd?: number | undefined], 'nn.Softshrink'>) {
    const [lambda = 0.5] = arranged('nn.Softshrink', given);
    super();
    requireNumber('Softshrink', { lambda });
    this.#lambda = lambda;
  }

  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return softshrink(input, this.#lambda);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([this.#lambda]);
  }
}

/** x outside of [−lambda, lambda], else 0 (torch.nn.Hardshrink): see `F.hardshrink`. */
export class Hardshrink extends Module {
  readonly #lambda: number;

  constructor(...given: Call<[lambd?: number | undefined], 'nn.Hardshrink'>) {
    const [lambda = 0.5] = arranged('nn.Hardshrink', given);
    super();
    requireNumber('Hardshrink', { lambda });
    this.#lambda = lambda;
  }

  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return hardshrink(input, this.#lambda);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([this.#lambda]);
  }
}

/** x if x > limit, else value (torch.nn.Threshold). */
export class Threshold extends Module {
  readonly #limit: number;
  readonly #value: number;
  readonly #inplace: boolean;

  constructor(
    ...given: Call<[threshold: number, value: number, options?: InplaceOptions | undefined], 'nn.Threshold'>
  ) {
    const [limit, value, { inplace = false }] = arranged('nn.Threshold', given);
    super();
    requireNumber('Threshold', { limit, value });
    this.#limit = limit;
    this.#value = value;
    this.#inplace = inplace;
  }

  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return threshold(input, this.#limit, this.#value);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { threshold: this.#limit, value: this.#value, ...inplaceOf(this.#inplace) });
  }
}

/** log(1 + exp(beta·x)) / beta (torch.nn.Softplus): see `F.softplus`. */
export class Softplus extends Module {
  readonly #options: SoftplusOptions;

  constructor(...given: Call<[options?: SoftplusOptions | undefined], 'nn.Softplus'>) {
    const [options] = arranged('nn.Softplus', given);
    super();

    this.#options = options;
  }

  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return softplus(input, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    const { beta = 1, threshold: limit = 20 } = this.#options;
    return writeArguments([], { beta: floatDefault(beta, 1), threshold: floatDefault(limit, 20) });
  }
}

/** The first half along `dim` times the sigmoid of the second half (torch.nn.GLU): see `F.glu`. */
export class GLU extends Module {
  readonly #dim: number;

  constructor(...given: Call<[dim?: number | undefined], 'nn.GLU'>) {
    const [dim = -1] = arranged('nn.GLU', given);
    super();
    requireNumber('GLU', { dim });
    this.#dim = dim;
  }

  /** Halves the length of `dim`. */
  forward(input: Tensor): Tensor {
    return glu(input, this.#dim);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { dim: this.#dim });
  }
}

/** x if x > 0, else weight·x with a learned weight (torch.nn.PReLU): see `F.prelu`. */
export class PReLU extends Module {
  /** [numParameters] */
  weight: Parameter;

  /**
   * - `numParameters`: 1, or the number of channels, the second dimension. Default: 1.
   * - `init`: initial value of the weights. Default: 0.25.
   */
  constructor(...given: Call<[numParameters?: number | undefined, init?: number | undefined], 'nn.PReLU'>) {
    const [numParameters = 1, init = 0.25] = arranged('nn.PReLU', given);
    super();
    requireNumber('PReLU', { numParameters, init });
    this.weight = new Parameter(new Float32Array(numParameters).fill(init), [numParameters]);
  }

  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return prelu(input, this.weight);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { num_parameters: this.weight.shape[0] });
  }
}
