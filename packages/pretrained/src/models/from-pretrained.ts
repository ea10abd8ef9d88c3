import { InvalidArgumentError, requireOptions, type OptionNames } from '@ringrun/core';
import { modelFiles, type HubOptions } from '../hub/model-files.ts';
import { PretrainedError } from '../hub/pretrained-error.ts';
import { readJson } from '../hub/read-json.ts';
import {
  describeMismatch,
  loadingMessage,
  matchWeights,
  type LoadingInfo,
} from '../weights/match-weights.ts';
import { readWeights } from '../weights/read-weights.ts';
import { classOf, type KnownModel } from './registry.ts';
import { labelsOf, type PretrainedConfig } from './shared/config.ts';
import type { PretrainedModel, PretrainedModelClass } from './shared/pretrained-model.ts';

/** Options of {@link fromPretrained}. */
export interface FromPretrainedOptions<Model extends PretrainedModel = PretrainedModel> extends HubOptions {
  /** Class of the model. Default: that of `architectures` in `config.json`. */
  model?: PretrainedModelClass<Model>;
  /** Number of classes of a new classification. Default: that of the model. */
  numLabels?: number;
  /** Settings that replace those of `config.json`, such as `{ hidden_dropout_prob: 0 }`. Default: none. */
  config?: Readonly<Record<string, unknown>>;
  /** If true, weights of another shape keep their random initial values, as a classification of other classes. Default: false. */
  ignoreMismatchedSizes?: boolean;
  /** Receives what was not loaded. Default: rank 0 prints a warning. */
  onLoadingInfo?: (info: LoadingInfo) => void;
}

const optionNames: OptionNames<FromPretrainedOptions> = {
  model: true,
  revision: true,
  cacheDir: true,
  localFilesOnly: true,
  numLabels: true,
  config: true,
  ignoreMismatchedSizes: true,
  onLoadingInfo: true,
};

/**
 * Loads a model of Hugging Face with its weights, in evaluation mode (transformers.AutoModel.from_pretrained).
 *
 * @param nameOrFolder a folder with `config.json` and `model.safetensors`, or the name of a model of the hub, such as
 *   `google-bert/bert-base-uncased`, which is looked up in the cache of huggingface_hub, and else downloaded by the package
 *   `@huggingface/hub`. Weights of 16 bits are converted to float32.
 * @throws PretrainedError (ERR_PRETRAINED) if files are missing, the `model_type` is not known, or shapes differ;
 *   InvalidArgumentError for invalid options and settings; CheckpointError for a damaged file; RingrunError
 *   (ERR_PACKAGE_MISSING) without the package that downloads
 */
export async function fromPretrained<Model extends PretrainedModel = KnownModel>(
  nameOrFolder: string,
  options: FromPretrainedOptions<Model> = {},
): Promise<Model> {
  const who = 'fromPretrained';
  requireOptions(who, options, optionNames);
  const { numLabels, config: changes } = options;
  const files = await modelFiles(who, nameOrFolder, options);
  const saved = await readJson<PretrainedConfig>(await files.get('config.json'));
  const Class = options.model ?? (classOf(files.title, saved) as unknown as PretrainedModelClass<Model>);
  if (saved.model_type !== Class.modelType) {
    throw new PretrainedError(
      `${who}: expected a model of ${Class.name} (model_type ${Class.modelType}), got ${JSON.stringify(saved.model_type)} in ${files.title}.`,
    );
  }
  const config = { ...saved, ...labels(who, numLabels), ...changes };
  const model = new Class(config as never);
  load(
    who,
    model,
    Class.baseModelPrefix,
    { title: files.title, weights: await readWeights(who, files) },
    options,
  );
  return model.eval();
}

function labels(who: string, count: number | undefined): object {
  if (count === undefined) return {};
  if (Number.isSafeInteger(count) && count > 0) return labelsOf(count);
  throw new InvalidArgumentError(`${who}: numLabels: expected a positive integer, got ${String(count)}.`);
}

/** Loads what fits, and reports the rest. */
function load(
  who: string,
  model: PretrainedModel,
  prefix: string,
  { title, weights }: { title: string; weights: Parameters<typeof matchWeights>[0] },
  {
    ignoreMismatchedSizes = false,
    onLoadingInfo,
  }: Pick<FromPretrainedOptions, 'ignoreMismatchedSizes' | 'onLoadingInfo'>,
): void {
  const tensors = [...model.namedParameters(), ...model.namedBuffers()];
  const shapes = new Map(tensors.map(([key, { shape }]) => [key, shape]));
  const { weights: matched, mismatchedKeys } = matchWeights(weights, shapes, prefix);
  if (mismatchedKeys.length > 0 && !ignoreMismatchedSizes) {
    throw new PretrainedError(
      `${who}: weights of ${title} have other shapes than ${model.constructor.name}: ${mismatchedKeys.map(describeMismatch).join(', ')}. Pass ignoreMismatchedSizes: true to initialize them randomly.`,
    );
  }
  const { missingKeys, unexpectedKeys } = model.loadStateDict(matched, { strict: false });
  const mismatched = new Set(mismatchedKeys.map(({ key }) => key));
  const info = {
    missingKeys: missingKeys.filter((key) => !mismatched.has(key)),
    unexpectedKeys,
    mismatchedKeys,
  };
  report(title, model, info, onLoadingInfo);
}

function report(
  title: string,
  model: PretrainedModel,
  info: LoadingInfo,
  onLoadingInfo: ((info: LoadingInfo) => void) | undefined,
): void {
  if (onLoadingInfo) {
    onLoadingInfo(info);
    return;
  }
  const message = loadingMessage(title, model.constructor.name, info);
  if (message !== undefined && (process.env['RANK'] ?? '0') === '0') console.warn(message);
}
