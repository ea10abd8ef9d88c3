import type { nn } from '@ringrun/nn';

/** Says how many elements of the parameters are trained: `trains 330 of 5658 parameters`. */
export function trainedParameters(model: Pick<nn.Module, 'parameters'>): string {
  const elements = (of: (parameter: { requiresGrad: boolean }) => boolean) =>
    [...model.parameters()].filter(of).reduce((sum, { data }) => sum + data.length, 0);
  return `trains ${elements(({ requiresGrad }) => requiresGrad)} of ${elements(() => true)} parameters`;
}
