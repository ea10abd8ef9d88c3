import { F, type nn, type Parameter, type Tensor } from '@ringrun/nn';

/** The mean cross-entropy of the tokens that follow, in nats per token. Input and target: [N, L]. */
export function lossOf(model: { forward(tokens: Tensor): Tensor }, input: Tensor, target: Tensor): Tensor {
  return tokenLoss(model.forward(input), target);
}

/** As `lossOf`, of logits [N, L, vocabSize]. */
export function tokenLoss(logits: Tensor, target: Tensor): Tensor {
  return F.crossEntropy(logits.flatten(0, 1), target.flatten());
}

/** Two groups of parameters: matrices, and vectors, which weight decay does not shrink. */
export function decayedApart(model: nn.Module): { params: Parameter[]; weightDecay?: number }[] {
  const [matrices, vectors]: Parameter[][] = [[], []];
  for (const parameter of model.parameters())
    (parameter.shape.length > 1 ? matrices : vectors).push(parameter);
  return [{ params: matrices }, { params: vectors, weightDecay: 0 }];
}

/** Factor of the learning rate: rises for 100 steps, then falls to a tenth along a cosine. */
export function warmupAndCosine(step: number, steps: number, warmup = 100): number {
  if (step < warmup) return (step + 1) / (warmup + 1);
  const progress = Math.min(1, (step - warmup) / Math.max(1, steps - warmup));
  return 0.1 + 0.45 * (1 + Math.cos(Math.PI * progress));
}
