import { PretrainedError } from '../hub/pretrained-error.ts';
import { Conv1D } from '../models/gpt2/conv1d.ts';
import type { LoraLayer } from './layers.ts';
import type { LoraConfig, LoraOptions } from './options.ts';

/** The part of `adapter_config.json` that ringrun reads and writes (peft.LoraConfig). */
export interface AdapterConfig {
  peft_type: string;
  task_type: string | null;
  base_model_name_or_path: string | null;
  r: number;
  lora_alpha: number;
  lora_dropout: number;
  target_modules: readonly string[] | string | null;
  modules_to_save: readonly string[] | null;
  use_rslora?: boolean;
}

/** Settings with which an adapter computes what ringrun does; others change the result. */
const plain: Readonly<Record<string, (value: unknown) => boolean>> = {
  peft_type: (value) => value === 'LORA',
  bias: (value) => value === 'none',
  use_dora: isOff,
  use_qalora: isOff,
  use_bdlora: isOff,
  lora_bias: isOff,
  rank_pattern: isOff,
  alpha_pattern: isOff,
  exclude_modules: isOff,
  layers_to_transform: isOff,
  layer_replication: isOff,
  target_parameters: isOff,
  trainable_token_indices: isOff,
  alora_invocation_tokens: isOff,
};

function isOff(value: unknown): boolean {
  return !value || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** The settings as PEFT writes them. */
export function toAdapterConfig(
  config: LoraConfig,
  layers: readonly LoraLayer[],
  baseModel: string | undefined,
): AdapterConfig & Readonly<Record<string, unknown>> {
  const { targetModules: targets } = config;
  return {
    peft_type: 'LORA',
    task_type: config.taskType ?? null,
    base_model_name_or_path: baseModel ?? null,
    bias: 'none',
    fan_in_fan_out: layers.some(({ base_layer }) => base_layer instanceof Conv1D),
    inference_mode: true,
    init_lora_weights: true,
    r: config.rank,
    lora_alpha: config.alpha,
    lora_dropout: config.dropout,
    target_modules: targets instanceof RegExp ? targets.source : targets,
    modules_to_save: config.modulesToSave.length > 0 ? config.modulesToSave : null,
    use_rslora: config.useRslora,
    use_dora: false,
  };
}

/** @throws PretrainedError for settings that ringrun does not support */
export function fromAdapterConfig(
  path: string,
  config: AdapterConfig & Readonly<Record<string, unknown>>,
): LoraOptions {
  for (const [key, isPlain] of Object.entries(plain)) {
    if (key in config && !isPlain(config[key])) {
      throw new PretrainedError(
        `loadAdapter: ${path}: ${key} is ${JSON.stringify(config[key])}, which ringrun does not support. Merge the adapter in Python: model.merge_and_unload().save_pretrained("folder").`,
      );
    }
  }
  const { target_modules: targets, modules_to_save: saved, task_type } = config;
  const isPattern = typeof targets === 'string' && targets !== 'all-linear';
  return {
    rank: config.r,
    alpha: config.lora_alpha,
    dropout: config.lora_dropout,
    ...(targets && { targetModules: isPattern ? new RegExp(targets) : targets }),
    ...(saved && { modulesToSave: [...new Set(saved)] }),
    ...(task_type && { taskType: task_type }),
    useRslora: config.use_rslora ?? false,
  };
}
