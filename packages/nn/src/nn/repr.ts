import { indentLines } from '@ringrun/core';

/*
 * Writes modules as torch prints them, in Python's notation: True, None, (3, 3), 1e-05. Users compare the two printouts.
 */

/** An argument of a module. Undefined ones are omitted; null is None. Texts are written without quotation marks. */
export type ReprValue = number | bigint | string | boolean | null | undefined | readonly ReprValue[];

/**
 * The arguments of a module: values without names, then names with values, such as `4, 8, kernel_size=(3, 3)`.
 *
 * @param named by torch's names in torch's order
 */
export function writeArguments(
  positional: readonly ReprValue[],
  named: Readonly<Record<string, ReprValue>> = {},
): string {
  const entries = Object.entries(named).filter(([, value]) => value !== undefined);
  return [...positional.map(written), ...entries.map(([name, value]) => `${name}=${written(value)}`)].join(
    ', ',
  );
}

/** A number that is a float in torch if it is the default: `1.0`. Python prints other numbers as the user wrote them. */
export function floatDefault(value: number, byDefault: number): ReprValue {
  return value === byDefault ? asFloat(value) : value;
}

/** A number that torch converts to a float: `2.0`. */
export function asFloat(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e16 ? value.toFixed(1) : writtenNumber(value);
}

/** A text in quotation marks. */
export function quoted(text: string): string {
  return `'${text}'`;
}

/** `inplace=True`, or nothing: as torch prints it for activations. */
export function inplaceOf(inplace: boolean): { inplace: true | undefined } {
  return { inplace: inplace || undefined };
}

/** A module with its arguments and submodules, which are indented by two spaces. */
export function writeModule(
  name: string,
  extra: string,
  children: readonly (readonly [name: string, text: string])[],
): string {
  const lines = extra === '' ? [] : extra.split('\n');
  if (lines.length <= 1 && children.length === 0) return `${name}(${extra})`;
  const below = children.map(([child, text]) => `(${child}): ${indentLines(text)}`);
  return `${name}(\n  ${[...lines, ...below].join('\n  ')}\n)`;
}

/** Consecutive submodules that are written equally as one, as torch does in a ModuleList: `(0-3): 4 x Linear(…)`. */
export function collapseEqual(texts: readonly string[]): [name: string, text: string][] {
  const blocks: { first: number; count: number; text: string }[] = [];
  for (const [position, text] of texts.entries()) {
    const last = blocks.at(-1);
    if (last?.text === text) last.count += 1;
    else blocks.push({ first: position, count: 1, text });
  }
  return blocks.map(({ first, count, text }) =>
    count === 1 ? [`${first}`, text] : [`${first}-${first + count - 1}`, `${count} x ${text}`],
  );
}

/** The parameters of a ParameterList or ParameterDict, which torch prints with two names of the type. */
export function writeParameters(
  parameters: readonly (readonly [name: string, parameter: { readonly shape: readonly number[] }])[],
  type: string,
): string {
  return parameters
    .map(([name, { shape }]) => `  (${name}): Parameter containing: [${type} of size ${shape.join('x')}]`)
    .join('\n');
}

function written(value: ReprValue): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return writtenNumber(value);
  if (typeof value !== 'object') return String(value);
  return `(${value.map(written).join(', ')}${value.length === 1 ? ',' : ''})`;
}

/** Python writes numbers below 1e-4 with an exponent of at least two digits. */
function writtenNumber(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Number.isInteger(value)) return String(BigInt(value));
  const [mantissa, exponent] = value.toExponential().split('e');
  if (Number(exponent) >= -4) return String(value);
  return `${mantissa}e-${exponent.slice(1).padStart(2, '0')}`;
}
