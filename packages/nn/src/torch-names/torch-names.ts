/**
 * Replacements for torch names that ringrun does not have: code, such as `await x.array()`, or a sentence. Names that differ
 * only by camelCase, such as maskedFill, need no entry.
 */
export type TorchNames = Readonly<Record<string, string>>;

/** torch's spelling of a name: maskedFill is masked_fill. */
export function snakeCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** ringrun's spelling of a name: masked_fill is maskedFill. */
export function camelCase(name: string): string {
  return name.replaceAll(/(?<=[A-Za-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
