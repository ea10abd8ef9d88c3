/*
 * How modules were constructed: the class of ringrun and its arguments. A copy of a module is constructed in the same way, because
 * private fields exist only on objects that their class has constructed.
 */

/** A call of a constructor. */
export interface Construction {
  /** The class whose constructor read the arguments. */
  readonly constructor: new (...given: unknown[]) => object;
  readonly given: readonly unknown[];
}

/** Arguments that constructors have read before they called that of the base class of modules. */
let pending: { readonly name: string; readonly given: readonly unknown[] }[] = [];

const constructions = new WeakMap<object, Construction>();

/** @param name the class of `nn` whose constructor reads its arguments */
export function argumentsRead(name: string, given: readonly unknown[]): void {
  pending.push({ name, given });
}

/** Called by the constructor of the base class. */
export function recordConstruction(module: object): void {
  for (const constructor of classesOf(module)) {
    const read = pending.findLast(({ name }) => name === constructor.name);
    if (read === undefined) continue;
    constructions.set(module, { constructor, given: read.given });
    break;
  }
  pending = [];
}

/** How a module was constructed; undefined for classes without arguments, such as those of the user. */
export function constructionOf(module: object): Construction | undefined {
  return constructions.get(module);
}

/** The class of an object and the classes that it extends, the class itself first. */
export function classesOf(object: object): Construction['constructor'][] {
  const classes: Construction['constructor'][] = [];
  let prototype = Object.getPrototypeOf(object) as object | null;
  for (; prototype !== null && prototype !== Object.prototype;) {
    classes.push(prototype.constructor as Construction['constructor']);
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  return classes;
}
