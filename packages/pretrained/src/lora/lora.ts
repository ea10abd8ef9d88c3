import { InvalidArgumentError } from '@ringrun/core';
import { nn } from '@ringrun/nn';
import { Conv1D } from '../models/gpt2/conv1d.ts';
import type { PretrainedConfig } from '../models/shared/config.ts';
import { PretrainedModel } from '../models/shared/pretrained-model.ts';
import { adapterOf, LoraLayer } from './layers.ts';
import { loraConfig, type LoraConfig, type LoraOptions, type TargetModules } from './options.ts';

/**
 * Freezes a model, and adds trainable adapters of low rank to its layers, in place (peft.get_peft_model with LoraConfig; Hu and
 * others, 2021). The outputs are unchanged at first. Optimizers train, and DistributedDataParallel sends, only the adapters and
 * `modulesToSave`. Call it before wrapping the model, and before `to`.
 *
 * ```ts
 * const model = lora(await fromPretrained('bert-base-uncased'), { rank: 8, modulesToSave: ['classifier'] });
 * ```
 *
 * @param model any model of `@ringrun/nn`
 * @returns the model
 * @throws InvalidArgumentError for invalid options, if no module matches `targetModules`, if one that matches cannot have an
 *   adapter, and if the model has adapters. Nothing is changed then.
 */
export function lora<Model extends nn.Module>(model: Model, options: LoraOptions = {}): Model {
  if (layersOf(model).length > 0) {
    throw new InvalidArgumentError(
      'lora: expected a model without adapters, got one with adapters. Call mergeAndUnload(model) first.',
    );
  }
  const { model_type } = model instanceof PretrainedModel ? (model.config as PretrainedConfig) : {};
  const config = loraConfig(options, model_type);
  const modules = model.namedModules();
  const saved = savedModules(model, config);
  const isSaved = (path: string) => saved.some(([one]) => path === one || path.startsWith(`${one}.`));
  const targets = modules.filter(
    ([path, module]) => !isSaved(path) && isTarget(config.targetModules, path, module),
  );
  if (targets.length === 0) {
    throw new InvalidArgumentError(
      `lora: expected modules that match targetModules ${written(config.targetModules)}, found none. console.log(model) prints their names.`,
    );
  }
  const adapters = targets.map(([path, module]) => [path, requireAdapter(path, module, config)] as const);
  model.requiresGrad(false);
  for (const [path, adapter] of adapters) model.setSubmodule(path, adapter);
  for (const [, module] of saved) module.requiresGrad();
  return model;
}

/** The adapters of a model with their paths. */
export function layersOf(model: nn.Module): [path: string, layer: LoraLayer][] {
  return model
    .namedModules()
    .flatMap(([path, module]) =>
      module instanceof LoraLayer ? [[path, module] as [string, LoraLayer]] : [],
    );
}

/** The modules of `modulesToSave` with their paths. */
export function savedModules(
  model: nn.Module,
  { modulesToSave }: LoraConfig,
): [path: string, module: nn.Module][] {
  const found = model.namedModules().filter(([path]) => modulesToSave.some((name) => endsWith(path, name)));
  if (modulesToSave.length > 0 && found.length === 0) {
    throw new InvalidArgumentError(
      `lora: expected modules of modulesToSave ${modulesToSave.join(', ')}, found none. console.log(model) prints their names.`,
    );
  }
  return found;
}

function isTarget(targets: TargetModules, path: string, module: nn.Module): boolean {
  if (targets === 'all-linear') return module instanceof nn.Linear || module instanceof Conv1D;
  if (targets instanceof RegExp) return new RegExp(`^(?:${targets.source})$`, targets.flags).test(path);
  return targets.some((name) => endsWith(path, name));
}

function endsWith(path: string, name: string): boolean {
  return path === name || path.endsWith(`.${name}`);
}

function requireAdapter(path: string, module: nn.Module, config: LoraConfig): LoraLayer {
  const adapter = adapterOf(module, config);
  if (adapter) return adapter;
  throw new InvalidArgumentError(
    `lora: targetModules: expected Linear, Conv1D, Embedding or Conv2d without groups, got ${module.constructor.name} for ${path}.`,
  );
}

function written(targets: TargetModules): string {
  return Array.isArray(targets) ? targets.join(', ') : String(targets);
}

/**
 * Adds the adapters to the weights of their layers, in place: the model computes the same, as fast as without adapters
 * (peft's merge_adapter). Adapters are not trained while they are merged.
 *
 * @throws InvalidArgumentError for a model without adapters; NnError (ERR_NOT_AWAITED) if an operation on the model is pending
 */
export function merge<Model extends nn.Module>(model: Model): Model {
  for (const [, layer] of requireLayers('merge', model)) layer.merge();
  return model;
}

/**
 * Restores the weights before `merge`, bit by bit (peft's unmerge_adapter).
 *
 * @throws InvalidArgumentError for a model without adapters; NnError (ERR_NOT_AWAITED) if an operation on the model is pending
 */
export function unmerge<Model extends nn.Module>(model: Model): Model {
  for (const [, layer] of requireLayers('unmerge', model)) layer.unmerge();
  return model;
}

/**
 * Adds the adapters to the weights, and removes them (peft's merge_and_unload): for `savePretrained` and `exportOnnx`. Parameters
 * stay frozen.
 *
 * @throws InvalidArgumentError for a model without adapters; NnError (ERR_NOT_AWAITED) if an operation on the model is pending
 */
export function mergeAndUnload<Model extends nn.Module>(model: Model): Model {
  for (const [path, layer] of requireLayers('mergeAndUnload', model)) {
    layer.merge();
    model.setSubmodule(path, layer.base_layer);
  }
  return model;
}

/** @throws InvalidArgumentError for a model without adapters */
export function requireLayers(who: string, model: nn.Module): [path: string, layer: LoraLayer][] {
  const layers = layersOf(model);
  if (layers.length > 0) return layers;
  throw new InvalidArgumentError(
    `${who}: expected a model with adapters, got one without. Call lora(model, options) first.`,
  );
}
