import type { Weights } from './read-weights.ts';

/** Names that do not match, as the model spells them. */
export interface LoadingInfo {
  /** Weights of the model that the file lacks; they keep their random initial values. */
  readonly missingKeys: readonly string[];
  /** Weights of the file that the model does not have. */
  readonly unexpectedKeys: readonly string[];
  /** Weights whose shapes differ; the model's keep their random initial values. */
  readonly mismatchedKeys: readonly MismatchedKey[];
}

/** A weight with another shape. */
export interface MismatchedKey {
  /** Name of the weight. */
  readonly key: string;
  /** Shape in the file. */
  readonly given: readonly number[];
  /** Shape in the model. */
  readonly expected: readonly number[];
}

/** What of a file can be loaded. */
export interface MatchedWeights extends Pick<LoadingInfo, 'mismatchedKeys'> {
  /** By the names of the model, without those of other shapes. */
  readonly weights: Weights;
}

/**
 * Weights of old files that no model has: masks and positions that were buffers (`_keys_to_ignore_on_load_unexpected` of
 * transformers).
 */
const former = /(^|\.)(attn\.(bias|masked_bias)|embeddings\.(position_ids|token_type_ids))$/;

/**
 * Renames the weights of a file to those of a model, as transformers does: the file may be that of a model with a head, or without
 * one.
 *
 * @param shapes of the model's weights by name
 * @param prefix of the base model in models with a head: `bert`
 */
export function matchWeights(
  file: Weights,
  shapes: ReadonlyMap<string, readonly number[]>,
  prefix: string,
): MatchedWeights {
  const renamed = [...withPrefix(withNewNames(file), shapes, `${prefix}.`)].filter(
    ([key]) => !former.test(key),
  );
  const mismatchedKeys = renamed.flatMap(([key, { shape }]) => {
    const expected = shapes.get(key);
    return expected === undefined || String(expected) === String(shape)
      ? []
      : [{ key, given: shape, expected }];
  });
  const mismatched = new Set(mismatchedKeys.map(({ key }) => key));
  return { weights: new Map(renamed.filter(([key]) => !mismatched.has(key))), mismatchedKeys };
}

/** TensorFlow's names of a normalization's weight and bias, which files of BERT have. */
function withNewNames(file: Weights): Weights {
  const renamed = [...file].map(
    ([key, value]) =>
      [
        key
          .replace(/\bLayerNorm\.gamma$/, 'LayerNorm.weight')
          .replace(/\bLayerNorm\.beta$/, 'LayerNorm.bias'),
        value,
      ] as const,
  );
  return new Map(renamed);
}

/** The file's names with the prefix added or removed, if only one of file and model has it. */
function withPrefix(file: Weights, shapes: ReadonlyMap<string, unknown>, prefix: string): Weights {
  const has = (keys: Iterable<string>) => [...keys].some((key) => key.startsWith(prefix));
  const [fileHas, modelHas] = [has(file.keys()), has(shapes.keys())];
  if (fileHas === modelHas) return file;
  const rename = (key: string) => {
    if (fileHas) return key.startsWith(prefix) ? key.slice(prefix.length) : key;
    return shapes.has(prefix + key) ? prefix + key : key;
  };
  return new Map([...file].map(([key, value]) => [rename(key), value]));
}

/** Describes what was not loaded, as transformers does; undefined if everything was. */
export function loadingMessage(
  title: string,
  model: string,
  { missingKeys, unexpectedKeys, mismatchedKeys }: LoadingInfo,
): string | undefined {
  const lines: string[] = [];
  if (unexpectedKeys.length > 0)
    lines.push(
      `Weights of ${title} that ${model} does not have were not used: ${unexpectedKeys.join(', ')}.`,
    );
  const initialized = [...missingKeys, ...mismatchedKeys.map(describeMismatch)];
  if (initialized.length > 0) {
    lines.push(
      `Weights of ${model} that are not in ${title} were initialized randomly: ${initialized.join(', ')}. Train the model before you use it for predictions.`,
    );
  }
  return lines.length === 0 ? undefined : lines.join('\n');
}

/** `classifier.weight ([2, 32] in the file, [3, 32] in the model)`. */
export function describeMismatch({ key, given, expected }: MismatchedKey): string {
  return `${key} ([${given.join(', ')}] in the file, [${expected.join(', ')}] in the model)`;
}
