import { InvalidArgumentError, printable } from '@ringrun/core';

/** The contents of a `config.json`, with its own names. Other keys than those of the model are kept. */
export interface PretrainedConfig {
  /** Kind of model, such as `bert`. */
  model_type: string;
  /** Names of the classes that the weights were saved from. */
  architectures?: readonly string[] | null;
  /** Names of the classes of a classification by number. Default: two. */
  id2label?: Readonly<Record<string, string>>;
  /** Numbers of the classes of a classification by name. */
  label2id?: Readonly<Record<string, number>>;
  /** Other settings. */
  [key: string]: unknown;
}

/** The settings of a model of which some may be missing. */
export type Given<Config extends PretrainedConfig> = { readonly [Key in keyof Config]?: Config[Key] };

/**
 * The settings with the model's defaults for those that are missing.
 *
 * @throws InvalidArgumentError if a setting has another type than its default. A default of null stands for a number.
 */
export function completeConfig<Config extends PretrainedConfig>(
  defaults: Config,
  given: Given<Config>,
): Config {
  const complete = { ...defaults, ...given };
  for (const [key, usual] of Object.entries(defaults)) {
    const value = (given as Readonly<Record<string, unknown>>)[key];
    if (value === undefined) Object.assign(complete, { [key]: usual });
    else if (!isLike(value, usual)) {
      throw new InvalidArgumentError(
        `config of ${defaults.model_type}: ${key}: expected ${kindOf(usual)}, got ${printable(JSON.stringify(value), 80)}.`,
      );
    }
  }
  return complete;
}

function isLike(value: unknown, usual: unknown): boolean {
  if (Array.isArray(usual)) return Array.isArray(value) && value.every(Number.isSafeInteger);
  if (usual === null) return value === null || typeof value === 'number';
  return typeof value === typeof usual;
}

function kindOf(usual: unknown): string {
  if (Array.isArray(usual)) return 'a list of integers';
  return usual === null ? 'a number or null' : `a ${typeof usual}`;
}

/** @throws InvalidArgumentError if a setting has a value that is not supported */
export function requireSettings<Config extends PretrainedConfig>(
  config: Config,
  supported: { readonly [Key in keyof Config]?: readonly unknown[] },
): void {
  for (const [key, values] of Object.entries(supported) as [string, readonly unknown[]][]) {
    const value = config[key];
    if (value !== undefined && !values.includes(value)) {
      const expected = values.map((one) => JSON.stringify(one)).join(' or ');
      throw new InvalidArgumentError(
        `config of ${config.model_type}: ${key}: expected ${expected}, got ${printable(JSON.stringify(value), 80)}, which ringrun does not support.`,
      );
    }
  }
}

/** Number of classes: that of `id2label`, by default 2. */
export function numLabelsOf({ id2label }: PretrainedConfig): number {
  return id2label === undefined ? 2 : Object.keys(id2label).length;
}

/** Settings of a classification with `count` classes: `LABEL_0`, … */
export function labelsOf(count: number): Required<Pick<PretrainedConfig, 'id2label' | 'label2id'>> {
  const names = Array.from({ length: count }, (_, number) => `LABEL_${number}`);
  return {
    id2label: Object.fromEntries(names.map((name, number) => [String(number), name])),
    label2id: Object.fromEntries(names.map((name, number) => [name, number])),
  };
}
