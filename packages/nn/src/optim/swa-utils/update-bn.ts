import { BatchNorm } from '../../nn/batch-norm.ts';
import { Module } from '../../nn/module.ts';
import { noGrad } from '../../tensor/no-grad.ts';
import type { Tensor } from '../../tensor/tensor.ts';

/**
 * Recomputes the running statistics of batch normalization layers for averaged parameters (torch.optim.swa_utils.update_bn):
 * their mean over all batches, each passed through the model once in training mode.
 *
 * @param model a module, or an AveragedModel
 * @param forward computes the model's output for a batch, such as `({ image }) => averaged.forward(tensor(image.data,
 *   image.shape))`
 */
export async function updateBn<Batch>(
  batches: Iterable<Batch> | AsyncIterable<Batch>,
  model: Module | { readonly module: Module },
  forward: (batch: Batch) => Tensor,
): Promise<void> {
  const modules = [...(model instanceof Module ? model : model.module).namedModules()].map(([, one]) => one);
  const norms = modules.filter((one) => one instanceof BatchNorm);
  if (norms.length === 0) return;
  const modes = modules.map(({ training }) => training);
  const momenta = norms.map(({ momentum }) => momentum);
  for (const norm of norms) norm.resetRunningStats();
  for (const norm of norms) norm.momentum = null;
  modules[0].train();
  try {
    for await (const batch of batches) await noGrad(() => forward(batch)).array();
  } finally {
    for (const [position, norm] of norms.entries()) norm.momentum = momenta[position];
    for (const [position, one] of modules.entries()) one.training = modes[position];
  }
}
