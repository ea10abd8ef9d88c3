import { snakeCase } from '../torch-names/torch-names.ts';

/*
 * Lists the parameters, buffers and submodules of a module with their names: the names of its properties, which differ from
 * torch's only in ringrun's own modules, and the names of its members.
 */

/** Names that are torch's in camelCase, by the prototype or the module that has them. */
const spelled = new WeakMap<object, ReadonlySet<string>>();

const members = new WeakMap<object, Map<string, unknown>>();

/**
 * Declares attributes that are torch's in camelCase, such as `runningMean`, so that they are listed by torch's names.
 *
 * @param owner the prototype of the class, or a module
 */
export function spellAsTorch<T extends object>(owner: T, names: readonly (keyof T & string)[]): void {
  spelled.set(owner, new Set([...(spelled.get(owner) ?? []), ...names]));
}

/** Declares attributes that are not properties of a module, because their names are the user's. */
export function holdMembers(module: object, held: Map<string, unknown>): void {
  members.set(module, held);
}

/** The attributes of a module by the names that torch lists them by: its properties, then its members. */
export function attributesOf(module: object): [name: string, value: unknown][] {
  const attributes: [string, unknown][] = [];
  for (const name of Object.keys(module)) {
    attributes.push([listedName(module, name), (module as Readonly<Record<string, unknown>>)[name]]);
  }
  const held = members.get(module);
  if (held) attributes.push(...held);
  return attributes;
}

/** Replaces the attribute that is listed by `name`. */
export function replaceAttribute(module: object, name: string, value: unknown): void {
  const held = members.get(module);
  if (held?.has(name)) {
    held.set(name, value);
    return;
  }
  const property = Object.keys(module).find((one) => listedName(module, one) === name);
  Object.assign(module, { [property ?? name]: value });
}

function listedName(module: object, property: string): string {
  if (!/[A-Z]/.test(property)) return property;
  for (const owner of withPrototypes(module)) {
    if (spelled.get(owner)?.has(property)) return snakeCase(property);
  }
  return property;
}

function withPrototypes(object: object): object[] {
  const prototype = Object.getPrototypeOf(object) as object | null;
  return [object, ...(prototype === null ? [] : withPrototypes(prototype))];
}
