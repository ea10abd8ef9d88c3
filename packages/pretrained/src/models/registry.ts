import { PretrainedError } from '../hub/pretrained-error.ts';
import { BertForMaskedLM, BertForSequenceClassification, BertModel } from './bert/models.ts';
import { DistilBertForSequenceClassification, DistilBertModel } from './distilbert/models.ts';
import { GPT2LMHeadModel, GPT2Model } from './gpt2/models.ts';
import { ResNetForImageClassification, ResNetModel } from './resnet/models.ts';
import type { PretrainedConfig } from './shared/config.ts';
import type { PretrainedModelClass } from './shared/pretrained-model.ts';

/** All classes; of each kind of model, the one without a head comes first. */
const classes = [
  BertModel,
  BertForMaskedLM,
  BertForSequenceClassification,
  DistilBertModel,
  DistilBertForSequenceClassification,
  GPT2Model,
  GPT2LMHeadModel,
  ResNetModel,
  ResNetForImageClassification,
] as const satisfies readonly PretrainedModelClass<KnownModel>[];

/** A model of any known class. */
export type KnownModel =
  | BertForMaskedLM
  | BertForSequenceClassification
  | BertModel
  | DistilBertForSequenceClassification
  | DistilBertModel
  | GPT2LMHeadModel
  | GPT2Model
  | ResNetForImageClassification
  | ResNetModel;

/**
 * The class of a model's settings: the first known one of `architectures`, else the model without a head.
 *
 * @throws PretrainedError for a `model_type` that is not known
 */
export function classOf(
  title: string,
  { model_type, architectures }: Partial<PretrainedConfig>,
): PretrainedModelClass<KnownModel> {
  const ofType = classes.filter(({ modelType }) => modelType === model_type);
  if (ofType.length > 0) {
    const names = architectures ?? [];
    return ofType.find(({ name }) => names.includes(name)) ?? ofType[0];
  }
  const known = [...new Set(classes.map(({ modelType }) => modelType))].join(', ');
  throw new PretrainedError(
    `fromPretrained: expected a config.json with a model_type of ${known}, got ${JSON.stringify(model_type)} in ${title}. Write the model with @ringrun/nn, and load its weights by loadStateDict(await loadSafetensors(file)).`,
  );
}
