import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import {
  binaryCrossEntropy,
  gaussianNllLoss,
  klDiv,
  poissonNllLoss,
  type BinaryCrossEntropyOptions,
  type GaussianNLLLossOptions,
  type KLDivOptions,
  type PoissonNLLLossOptions,
} from '../functional/probability-loss.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Binary cross entropy of probabilities (torch.nn.BCELoss): see `F.binaryCrossEntropy`. */
export class BCELoss extends Module {
  readonly #options: BinaryCrossEntropyOptions;

  constructor(...given: Call<[options?: BinaryCrossEntropyOptions | undefined], 'nn.BCELoss'>) {
    const [options] = arranged('nn.BCELoss', given);
    super();

    this.#options = options;
  }

  /** The loss of probabilities and targets from 0 to 1, of one shape. */
  forward(probabilities: Tensor, target: Tensor): Tensor {
    return binaryCrossEntropy(probabilities, target, this.#options);
  }
}

/** Kullback–Leibler divergence of log-probabilities (torch.nn.KLDivLoss): see `F.klDiv`. */
export class KLDivLoss extends Module {
  readonly #options: KLDivOptions;

  constructor(...given: Call<[options?: KLDivOptions | undefined], 'nn.KLDivLoss'>) {
    const [options] = arranged('nn.KLDivLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of log-probabilities and targets of one shape. */
  forward(input: Tensor, target: Tensor): Tensor {
    return klDiv(input, target, this.#options);
  }
}

/** Negative log-likelihood of counts with a Poisson distribution (torch.nn.PoissonNLLLoss): see `F.poissonNllLoss`. */
export class PoissonNLLLoss extends Module {
  readonly #options: PoissonNLLLossOptions;

  constructor(...given: Call<[options?: PoissonNLLLossOptions | undefined], 'nn.PoissonNLLLoss'>) {
    const [options] = arranged('nn.PoissonNLLLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of rates and counts of one shape. */
  forward(input: Tensor, target: Tensor): Tensor {
    return poissonNllLoss(input, target, this.#options);
  }
}

/** Negative log-likelihood of targets with a normal distribution (torch.nn.GaussianNLLLoss): see `F.gaussianNllLoss`. */
export class GaussianNLLLoss extends Module {
  readonly #options: GaussianNLLLossOptions;

  constructor(...given: Call<[options?: GaussianNLLLossOptions | undefined], 'nn.GaussianNLLLoss'>) {
    const [options] = arranged('nn.GaussianNLLLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of means, targets and variances. */
  forward(input: Tensor, target: Tensor, variance: Tensor): Tensor {
    return gaussianNllLoss(input, target, variance, this.#options);
  }
}
