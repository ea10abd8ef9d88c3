import { InvalidArgumentError } from '@ringrun/core';
import { layersOf } from '../lora/lora.ts';
import { writeFiles } from '../weights/write-weights.ts';
import type { PretrainedModel } from './shared/pretrained-model.ts';

/**
 * Writes a model as `config.json` and `model.safetensors`, which transformers reads (PreTrainedModel.save_pretrained). Call it on
 * one rank.
 *
 * @param location folder or s3://bucket/prefix, which is created if needed
 * @throws InvalidArgumentError for a model with adapters; StorageError if a file cannot be written; NnError (ERR_NOT_AWAITED) if an operation on the model is pending
 */
export async function savePretrained(model: PretrainedModel, location: string): Promise<void> {
  if (layersOf(model).length > 0) {
    throw new InvalidArgumentError(
      'savePretrained: expected a model without adapters, got one with adapters. Call saveAdapter, or mergeAndUnload(model) first.',
    );
  }
  const architectures = [model.constructor.name];
  const config = { ...model.config, architectures, dtype: 'float32' };
  await writeFiles(location, {
    'config.json': config,
    'model.safetensors': model.stateDict(),
  });
}
