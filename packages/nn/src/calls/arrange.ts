import { describeValue } from '../checks/describe-value.ts';
import { requireOptions } from '../checks/require-options.ts';
import { ArgumentError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { TensorMethods } from '../tensor/tensor-methods.ts';
import type { Arranged, Call } from './call.ts';
import { argumentsRead } from './constructions.ts';
import type { Signature } from './signature.ts';
import { kindOf, type Kind } from './kinds.ts';
import { signatures, type Signatures } from './signatures.ts';
import { reasonAgainst } from './unsupported.ts';

// The one place that reads the arguments of torch's functions: by position, by name, or both.

interface Argument {
  readonly name: string;
  readonly isRequired: boolean;
  /** Only the default is accepted. */
  readonly isUnsupported: boolean;
  /** null is a value, not the default. */
  readonly isNullable: boolean;
  readonly kind: Kind | undefined;
}

interface Parsed {
  /** In messages. */
  readonly name: string;
  /** As users write it: `F.conv2d`, `x.sum`, `new nn.Linear`. */
  readonly spelling: string;
  /** In torch's order. */
  readonly positional: readonly Argument[];
  /** Number of those before the options. */
  readonly usual: number;
  readonly hasOptions: boolean;
  /** The class of `nn` whose constructor this is. */
  readonly className: string | undefined;
  readonly byName: ReadonlyMap<string, Argument>;
  readonly names: Readonly<Record<string, true>>;
  /** Names for messages about unknown ones: the options, if there are any. */
  readonly suggested: Readonly<Record<string, true>>;
}

/** Options for which null is a value. As a group, it is that of `newGroup` on ranks outside of it, and not the default group. */
const nullable: ReadonlySet<string> = new Set([
  'nn.BatchNorm momentum',
  'nn.SyncBatchNorm momentum',
  'nn.SyncBatchNorm processGroup',
  'nn.utils.parametrizations.weightNorm dim',
]);

/** By key, then by name. */
const parsed = new Map<string, Map<string | undefined, Parsed>>();

/**
 * The arguments of a call in their usual order, with the options in one object.
 *
 * @param key the function's entry in the table of signatures
 * @param given the arguments of the call
 * @param name the name in messages. Default: that of the key.
 * @throws ArgumentError that shows the right call, if an argument is unknown, missing, given twice or of another kind
 */
export function arranged<Usual extends readonly unknown[], Name extends keyof Signatures>(
  key: Name,
  given: Call<Usual, Name>,
  name?: string,
): Arranged<Usual, Signatures[Name]> {
  return arrangedBy(key, given, name) as unknown as Arranged<Usual, Signatures[Name]>;
}

/** `arranged` without types, for wrappers of functions. */
export function arrangedBy(key: keyof Signatures, given: readonly unknown[], name?: string): unknown[] {
  const signature = parsed.get(key)?.get(name) ?? parse(key, name);
  const { usual, positional, hasOptions, className } = signature;
  if (className !== undefined) argumentsRead(className, given);
  const last = given.at(-1);
  const named = isNamed(last) || hasOnly(signature.names, last) ? last : undefined;
  const count = named === undefined ? given.length : given.length - 1;
  const call: Written = { signature, given, heads: [], options: {} };
  const { heads, options } = call;
  if (count > positional.length) throw tooMany(call, count);
  for (let place = 0; place < usual; place += 1) heads.push(undefined);
  for (let place = 0; place < count; place += 1) set(call, place, positional[place], given[place]);
  if (named !== undefined) {
    for (const key in named) {
      const argument = signature.byName.get(key);
      if (argument === undefined) throw unknownName(call, named);
      const place = positional.indexOf(argument);
      if (place >= 0 && place < count && given[place] !== undefined) throw givenTwice(call, argument);
      set(call, place < 0 ? Infinity : place, argument, named[key]);
    }
  }
  for (let place = 0; place < usual; place += 1) {
    if (heads[place] === undefined && positional[place].isRequired) throw missing(call, positional[place]);
  }
  if (hasOptions) heads.push(options);
  return heads;
}

function set(call: Written, place: number, argument: Argument, value: unknown): void {
  if (value === undefined || (value === null && !argument.isNullable)) return;
  const { signature, heads, options } = call;
  if (value === null) {
    options[argument.name] = value;
    return;
  }
  if (argument.isUnsupported) requireDefault(call, argument, value);
  else if (place < signature.usual) heads[place] = value;
  else options[argument.name] = value;
  check(call, argument, value);
}

/** The arguments of a tensor's method by position, if some are given by name. */
export function positional(method: string, given: unknown[]): unknown[] {
  const key = `x.${method}`;
  return isNamed(given.at(-1)) && key in signatures ? arrangedBy(key as keyof Signatures, given) : given;
}

/** True for an object that names arguments, as opposed to an array, a tensor or a module. */
export function isNamed(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** True for an object of a class, such as a user's settings, whose properties are all arguments. */
function hasOnly(names: Readonly<Record<string, true>>, value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value))
    return false;
  const keys = Object.keys(value);
  return keys.length > 0 && keys.every((key) => Object.hasOwn(names, key));
}

interface Written {
  readonly signature: Parsed;
  readonly given: readonly unknown[];
  /** The usual arguments and the options that it sets. */
  readonly heads: unknown[];
  readonly options: Record<string, unknown>;
}

function parse(key: keyof Signatures, given: string | undefined): Parsed {
  const name = given ?? (key.startsWith('nn.init.') ? key : key.slice(key.lastIndexOf('.') + 1));
  const [usual, options, withoutPosition = []]: Signature = signatures[key];
  const of = (written: string): Argument => {
    const stem = written.replace(/[?!]$/, '');
    return {
      name: stem,
      isRequired: stem === written,
      isUnsupported: written.endsWith('!'),
      isNullable: nullable.has(`${key} ${stem}`),
      kind: kindOf(key, stem),
    };
  };
  const positional = [...usual, ...options].map(of);
  const all = [...positional, ...withoutPosition.map(of)];
  const supported = all.filter(({ isUnsupported }) => !isUnsupported);
  const last = key.lastIndexOf('.') + 1;
  const stem = name.slice(name.lastIndexOf('.') + 1);
  const result: Parsed = {
    name,
    spelling: `${/^[A-Z]/.test(stem) ? 'new ' : ''}${key.slice(0, last)}${stem}`,
    positional,
    usual: usual.length,
    hasOptions: supported.length > usual.length,
    className: /^nn\.([A-Z]\w*)$/.exec(key)?.[1],
    byName: new Map(all.map((argument) => [argument.name, argument])),
    names: namesOf(supported),
    suggested: namesOf(supported.length > usual.length ? supported.slice(usual.length) : supported),
  };
  const byName = parsed.get(key) ?? new Map<string | undefined, Parsed>();
  parsed.set(key, byName.set(given, result));
  return result;
}

function namesOf(all: readonly Argument[]): Record<string, true> {
  return Object.fromEntries(all.map(({ name }) => [name, true]));
}

function check(call: Written, { name, kind }: Argument, value: unknown): void {
  if (kind === undefined || kind.accepts(value)) return;
  throw new ArgumentError(
    `${call.signature.name}: ${name} must be ${kind.expected}, got ${shown(value)}. ${advice(call)}`,
  );
}

function requireDefault(call: Written, { name }: Argument, value: unknown): void {
  const reason = reasonAgainst(name, value, call.signature.spelling);
  if (reason === undefined) return;
  throw new ArgumentError(`${call.signature.name}: ${name} is not supported, got ${shown(value)}. ${reason}`);
}

function missing(call: Written, { name }: Argument): ArgumentError {
  return new ArgumentError(`${call.signature.name}: ${name} is missing. ${advice(call)}`);
}

function tooMany(call: Written, count: number): ArgumentError {
  const { length } = call.signature.positional;
  const most =
    length === 0 ? 'no arguments' : length === 1 ? 'at most 1 argument' : `at most ${length} arguments`;
  return new ArgumentError(`${call.signature.name}: expected ${most}, got ${count}. ${advice(call)}`);
}

function givenTwice(call: Written, { name }: Argument): ArgumentError {
  return new ArgumentError(
    `${call.signature.name}: expected ${name} once, got it by position and by name. ${advice(call)}`,
  );
}

function unknownName(call: Written, named: Record<string, unknown>): ArgumentError {
  try {
    requireOptions(call.signature.name, named, call.signature.suggested);
  } catch (error) {
    if (error instanceof ArgumentError) return error;
    throw error;
  }
  return new ArgumentError(`${call.signature.name}: expected other names of arguments. ${advice(call)}`);
}

/** The right call, and the call as it was. */
function advice({ signature: { spelling, positional, usual, names }, given }: Written): string {
  const heads = positional.slice(0, usual).map(({ name, isRequired }) => (isRequired ? name : `${name}?`));
  const options = Object.keys(names).filter(
    (name) => !positional.slice(0, usual).some((one) => one.name === name),
  );
  const rest = options.length === 0 ? [] : [`{ ${options.join(', ')} }`];
  return `Write ${spelling}(${[...heads, ...rest].join(', ')}), not ${spelling}(${given.map(shown).join(', ')}).`;
}

/** A value as users write it. */
function shown(value: unknown): string {
  if (value instanceof TensorMethods) return describeType(value.value);
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) {
    return value.length > 8 ? `an array of ${value.length} elements` : `[${value.map(shown).join(', ')}]`;
  }
  if (isNamed(value)) {
    const entries = Object.entries(value).map(([name, one]) => `${name}: ${shown(one)}`);
    return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
  }
  return typeof value === 'bigint' ? `${value}n` : describeValue(value);
}
