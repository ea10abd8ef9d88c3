import { F, type Tensor } from '../../../src/index.ts';
import { NoCounterpart, type Given } from '../given.ts';
import { op, type Operation } from '../operation.ts';
import { numberOptions, options } from './options.ts';

/** A loss; torch's `size_average` and `reduce` are the old spelling of `reduction`. */
const loss = (
  names: string,
  call: (x: Tensor, given: Given, reduction: { reduction?: F.Reduction }) => Tensor,
): Operation =>
  op(names, (x, given) => {
    if (given.has('size_average') || given.has('reduce'))
      throw new NoCounterpart('`size_average` and `reduce`');
    return call(x, given, options(given, { reduction: 'reduction' }));
  });

/** A loss of an input and a target of its shape. */
const ofTarget = (
  call: (x: Tensor, target: Tensor, options: object) => Tensor,
  numbers: object = {},
): Operation =>
  loss('target', (x, g, reduction) =>
    call(x, g.tensor('target'), { ...reduction, ...numberOptions(g, numbers) }),
  );

/** torch.nn.functional: losses. */
export const losses: Readonly<Record<string, Operation>> = {
  'nn.functional.mse_loss': loss('target', (x, g, reduction) => {
    if (g.has('weight')) throw new NoCounterpart('`weight`');
    return F.mseLoss(x, g.tensor('target'), reduction);
  }),
  'nn.functional.l1_loss': ofTarget(F.l1Loss),
  'nn.functional.smooth_l1_loss': ofTarget(F.smoothL1Loss, { beta: 'beta' }),
  'nn.functional.huber_loss': ofTarget(F.huberLoss, { delta: 'delta' }),
  'nn.functional.soft_margin_loss': ofTarget(F.softMarginLoss),
  'nn.functional.hinge_embedding_loss': ofTarget(F.hingeEmbeddingLoss, { margin: 'margin' }),
  'nn.functional.binary_cross_entropy': loss('target', (x, g, reduction) =>
    F.binaryCrossEntropy(x, g.tensor('target'), { ...reduction, weight: g.optionalTensor('weight') }),
  ),
  'nn.functional.binary_cross_entropy_with_logits': loss('target', (x, g, reduction) =>
    F.binaryCrossEntropyWithLogits(x, g.tensor('target'), {
      ...reduction,
      weight: g.optionalTensor('weight'),
      posWeight: g.optionalTensor('pos_weight'),
    }),
  ),
  'nn.functional.cross_entropy': loss('target', (x, g, reduction) =>
    F.crossEntropy(x, g.tensor('target'), {
      ...reduction,
      weight: g.optionalTensor('weight'),
      ...numberOptions(g, { ignore_index: 'ignoreIndex', label_smoothing: 'labelSmoothing' }),
    }),
  ),
  'nn.functional.nll_loss': loss('target', (x, g, reduction) =>
    F.nllLoss(x, g.tensor('target'), {
      ...reduction,
      weight: g.optionalTensor('weight'),
      ...numberOptions(g, { ignore_index: 'ignoreIndex' }),
    }),
  ),
  'nn.functional.kl_div': loss('target', (x, g, reduction) =>
    F.klDiv(x, g.tensor('target'), { ...reduction, ...options(g, { log_target: 'logTarget' }) }),
  ),
  'nn.functional.poisson_nll_loss': loss('target', (x, g, reduction) =>
    F.poissonNllLoss(x, g.tensor('target'), {
      ...reduction,
      ...options(g, { log_input: 'logInput', full: 'full' }),
      ...numberOptions(g, { eps: 'eps' }),
    }),
  ),
  'nn.functional.gaussian_nll_loss': loss('target var', (x, g, reduction) =>
    F.gaussianNllLoss(x, g.tensor('target'), g.tensor('var'), {
      ...reduction,
      ...options(g, { full: 'full' }),
      ...numberOptions(g, { eps: 'eps' }),
    }),
  ),
  'nn.functional.margin_ranking_loss': loss('other target', (x, g, reduction) =>
    F.marginRankingLoss(x, g.tensor('other'), g.tensor('target'), {
      ...reduction,
      ...numberOptions(g, { margin: 'margin' }),
    }),
  ),
  'nn.functional.cosine_embedding_loss': loss('other target', (x, g, reduction) =>
    F.cosineEmbeddingLoss(x, g.tensor('other'), g.tensor('target'), {
      ...reduction,
      ...numberOptions(g, { margin: 'margin' }),
    }),
  ),
  'nn.functional.triplet_margin_loss': loss('positive negative', (x, g, reduction) =>
    F.tripletMarginLoss(x, g.tensor('positive'), g.tensor('negative'), {
      ...reduction,
      ...options(g, { swap: 'swap' }),
      ...numberOptions(g, { margin: 'margin', p: 'p', eps: 'eps' }),
    }),
  ),
  'nn.functional.triplet_margin_with_distance_loss': loss('positive negative', (x, g, reduction) => {
    if (g.has('distance_function')) throw new NoCounterpart("a function of Python's");
    return F.tripletMarginWithDistanceLoss(x, g.tensor('positive'), g.tensor('negative'), {
      ...reduction,
      ...options(g, { swap: 'swap' }),
      ...numberOptions(g, { margin: 'margin' }),
    });
  }),
  'nn.functional.multi_margin_loss': loss('target', (x, g, reduction) =>
    F.multiMarginLoss(x, g.tensor('target'), {
      ...reduction,
      ...numberOptions(g, { p: 'p', margin: 'margin' }),
      weight: g.optionalTensor('weight'),
    }),
  ),
  'nn.functional.multilabel_soft_margin_loss': loss('target', (x, g, reduction) =>
    F.multilabelSoftMarginLoss(x, g.tensor('target'), { ...reduction, weight: g.optionalTensor('weight') }),
  ),
  'nn.functional.ctc_loss': loss('targets input_lengths target_lengths', (x, g, reduction) =>
    F.ctcLoss(
      x,
      g.tensor('targets'),
      g.any('input_lengths') as F.Lengths,
      g.any('target_lengths') as F.Lengths,
      {
        ...reduction,
        ...numberOptions(g, { blank: 'blank' }),
        ...options(g, { zero_infinity: 'zeroInfinity' }),
      },
    ),
  ),
};
