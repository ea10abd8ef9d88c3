import { InvalidArgumentError, requireOptions, type OptionNames } from '@ringrun/core';

/** Names of modules, a pattern that the whole path of a module matches, or all Linear and Conv1D. */
export type TargetModules = readonly string[] | RegExp | 'all-linear';

/** Options of {@link lora} (peft.LoraConfig). */
export interface LoraOptions {
  /** Rank of the adapters (`r`). Default: 8. */
  rank?: number;
  /** The output of an adapter is multiplied by `alpha / rank` (`lora_alpha`). Default: 8. */
  alpha?: number;
  /** Probability of dropout before an adapter (`lora_dropout`). Default: 0. */
  dropout?: number;
  /**
   * Modules that get an adapter: Linear, Conv1D of GPT-2, Embedding and Conv2d. A name matches the end of a path: `query` is
   * `bert.encoder.layer.0.attention.self.query`. Default, as in PEFT: `query` and `value` of BERT, `q_lin` and `v_lin` of
   * DistilBERT, `c_attn` of GPT-2.
   */
  targetModules?: TargetModules;
  /** Modules that are trained and saved as a whole, such as a new `classifier` (`modules_to_save`). Default: none. */
  modulesToSave?: readonly string[];
  /** If true, the factor is `alpha / √rank` (`use_rslora`; Kalajdzievski, 2023). Default: false. */
  useRslora?: boolean;
  /** What PEFT loads the adapter for, such as `SEQ_CLS` or `CAUSAL_LM` (`task_type`). Default: none. */
  taskType?: string;
}

/** Complete options. */
export interface LoraConfig extends Required<Omit<LoraOptions, 'taskType'>> {
  /** What PEFT loads the adapter for. */
  readonly taskType: string | undefined;
}

const optionNames: OptionNames<LoraOptions> = {
  rank: true,
  alpha: true,
  dropout: true,
  targetModules: true,
  modulesToSave: true,
  useRslora: true,
  taskType: true,
};

/** PEFT's targets by `model_type` (TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING). */
const usualTargets: Readonly<Record<string, readonly string[]>> = {
  bert: ['query', 'value'],
  distilbert: ['q_lin', 'v_lin'],
  gpt2: ['c_attn'],
};

/** @throws InvalidArgumentError for invalid options, and without `targetModules` for a model that has no usual ones */
export function loraConfig(given: LoraOptions, modelType: string | undefined): LoraConfig {
  requireOptions('lora', given, optionNames);
  const { rank = 8, alpha = 8, dropout = 0, modulesToSave = [], useRslora = false, taskType } = given;
  const targetModules = given.targetModules ?? usualTargets[modelType ?? ''];
  if (!Number.isSafeInteger(rank) || rank < 1) throw invalid('rank', 'a positive integer', rank);
  if (!Number.isFinite(alpha)) throw invalid('alpha', 'a number', alpha);
  if (!(dropout >= 0 && dropout < 1)) throw invalid('dropout', 'a probability below 1', dropout);
  if (!isTargets(targetModules))
    throw invalid('targetModules', "names of modules, a RegExp or 'all-linear'", targetModules);
  if (!isNames(modulesToSave)) throw invalid('modulesToSave', 'names of modules', modulesToSave);
  return { rank, alpha, dropout, targetModules, modulesToSave, useRslora, taskType };
}

function isTargets(targets: unknown): targets is TargetModules {
  return targets === 'all-linear' || targets instanceof RegExp || (isNames(targets) && targets.length > 0);
}

function isNames(names: unknown): names is readonly string[] {
  return Array.isArray(names) && names.every((name) => typeof name === 'string' && name !== '');
}

function invalid(option: string, expected: string, got: unknown): InvalidArgumentError {
  return new InvalidArgumentError(
    `lora: ${option}: expected ${expected}, got ${got === undefined ? 'none' : JSON.stringify(got)}.`,
  );
}
