import { requireOptions, type OptionNames } from '@ringrun/core';
import type { nn } from '@ringrun/nn';
import { loadSafetensors } from 'ringrun';
import { modelFiles, type HubOptions } from '../hub/model-files.ts';
import { PretrainedError } from '../hub/pretrained-error.ts';
import { readJson } from '../hub/read-json.ts';
import type { Weights } from '../weights/read-weights.ts';
import { writeFiles } from '../weights/write-weights.ts';
import { fromAdapterConfig, toAdapterConfig, type AdapterConfig } from './adapter-config.ts';
import type { LoraOptions } from './options.ts';
import { layersOf, lora, requireLayers, savedModules } from './lora.ts';

const [configFile, weightsFile] = ['adapter_config.json', 'adapter_model.safetensors'];
/** Of the names in the files: PEFT wraps the model twice. */
const prefix = 'base_model.model.';

/** Options of {@link saveAdapter}. */
export interface SaveAdapterOptions {
  /** Name or folder of the model without the adapter, which PEFT's AutoPeftModel loads. Default: none. */
  baseModel?: string;
}

/** Options of {@link loadAdapter}. */
export interface LoadAdapterOptions extends HubOptions {
  /** If true, the adapter can be trained further (`is_trainable`). Default: false. */
  trainable?: boolean;
}

const saveOptions: OptionNames<SaveAdapterOptions> = { baseModel: true };
const loadOptions: OptionNames<LoadAdapterOptions> = {
  trainable: true,
  revision: true,
  cacheDir: true,
  localFilesOnly: true,
};

/** A parameter or buffer of a module. */
interface AdapterTensor {
  readonly owner: nn.Module;
  /** In the state dict of the owner. */
  readonly key: string;
  readonly shape: readonly number[];
}

/** The parameters and buffers of the adapters and of `modulesToSave` by their paths in the model and PEFT's names. */
function adapterTensors(who: string, model: nn.Module): Map<string, AdapterTensor> {
  const layers = requireLayers(who, model);
  const found = new Map<string, AdapterTensor>();
  for (const [path, layer] of layers) {
    for (const [key, { shape }] of layer.namedParameters())
      if (key.startsWith('lora_')) found.set(`${prefix}${path}.${key}`, { owner: layer, key, shape });
  }
  for (const [path, module] of savedModules(model, layers[0][1].config)) {
    for (const [key, { shape }] of [...module.namedParameters(), ...module.namedBuffers()])
      found.set(`${prefix}${path}.${key}`, { owner: module, key, shape });
  }
  return found;
}

/**
 * The adapters and `modulesToSave` by PEFT's names, such as `base_model.model.….query.lora_A.weight`
 * (peft.get_peft_model_state_dict). Elements are copied.
 *
 * @throws InvalidArgumentError for a model without adapters; NnError (ERR_NOT_AWAITED) if an operation on the model is pending
 */
export function loraStateDict(model: nn.Module): ReturnType<nn.Module['stateDict']> {
  const states = new Map<nn.Module, ReturnType<nn.Module['stateDict']>>();
  const stateOf = (owner: nn.Module) => {
    const state = states.get(owner) ?? owner.stateDict();
    states.set(owner, state);
    return state;
  };
  const tensors = adapterTensors('loraStateDict', model);
  return new Map([...tensors].map(([name, { owner, key }]) => [name, stateOf(owner).get(key)!]));
}

/**
 * Writes the adapters as `adapter_config.json` and `adapter_model.safetensors`, which PEFT reads (PeftModel.save_pretrained). Call
 * it on one rank.
 *
 * @param location folder or s3://bucket/prefix, which is created if needed
 * @throws InvalidArgumentError for a model without adapters; StorageError if a file cannot be written
 */
export async function saveAdapter(
  model: nn.Module,
  location: string,
  options: SaveAdapterOptions = {},
): Promise<void> {
  requireOptions('saveAdapter', options, saveOptions);
  const layers = requireLayers('saveAdapter', model).map(([, layer]) => layer);
  await writeFiles(location, {
    [configFile]: toAdapterConfig(layers[0].config, layers, options.baseModel),
    [weightsFile]: loraStateDict(model),
  });
}

/**
 * Loads adapters of PEFT or ringrun into a model (PeftModel.from_pretrained). A model without adapters gets those of the file; one
 * with adapters must have the same.
 *
 * @param nameOrFolder a folder, or the name of an adapter of the hub: see `fromPretrained`
 * @returns the model
 * @throws PretrainedError (ERR_PRETRAINED) if files are missing, have settings that ringrun does not support, or do not fit;
 *   InvalidArgumentError as `lora`
 */
export async function loadAdapter<Model extends nn.Module>(
  model: Model,
  nameOrFolder: string,
  options: LoadAdapterOptions = {},
): Promise<Model> {
  requireOptions('loadAdapter', options, loadOptions);
  const files = await modelFiles('loadAdapter', nameOrFolder, options);
  const path = await files.get(configFile);
  const settings = fromAdapterConfig(path, await readJson<AdapterConfig & Record<string, unknown>>(path));
  const weights = await loadSafetensors(await files.get(weightsFile));
  const undo = layersOf(model).length === 0 ? withAdapters(model, settings) : () => undefined;
  try {
    loadInto(model, files.title, weights);
  } catch (error) {
    undo();
    throw error;
  }
  for (const [, layer] of layersOf(model)) layer.unmerge();
  if (options.trainable !== true) model.requiresGrad(false);
  return model;
}

/** Adds adapters. Returns a function that removes them. */
function withAdapters(model: nn.Module, settings: LoraOptions): () => void {
  const trained = model.parameters().filter(({ requiresGrad }) => requiresGrad);
  lora(model, settings);
  return () => {
    for (const [path, layer] of layersOf(model)) model.setSubmodule(path, layer.base_layer);
    for (const parameter of trained) parameter.requiresGrad = true;
  };
}

function loadInto(model: nn.Module, title: string, weights: Weights): void {
  const tensors = adapterTensors('loadAdapter', model);
  const problems = [
    ...[...tensors.keys()].filter((name) => !weights.has(name)).map((name) => `missing: ${name}`),
    ...[...weights.keys()].filter((name) => !tensors.has(name)).map((name) => `unexpected: ${name}`),
    ...[...tensors].flatMap(([name, { shape: expected }]) => {
      const given = weights.get(name)?.shape ?? expected;
      return String(given) === String(expected)
        ? []
        : [`${name}: expected the shape [${expected.join(', ')}], got [${given.join(', ')}]`];
    }),
  ];
  if (problems.length > 0) {
    throw new PretrainedError(
      `loadAdapter: the adapter ${title} does not match the model: ${problems.slice(0, 8).join(', ')}${problems.length > 8 ? ', …' : ''}.`,
    );
  }
  for (const [name, { owner, key }] of tensors)
    owner.loadStateDict(new Map([[key, weights.get(name)!]]), { strict: false });
}
