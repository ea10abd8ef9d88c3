import { ArgumentError } from '../errors/errors.ts';
import { snakeCase, type TorchNames } from './torch-names.ts';

/** Adds properties for torch's names to an object; reading one throws an error that names ringrun's equivalent. */
export function answerNames(target: object, owner: string, torch: TorchNames): void {
  for (const name of publicNames(target)) {
    const spelling = snakeCase(name);
    if (spelling !== name) answer(target, owner, spelling, `${owner}.${name}`);
  }
  for (const [name, replacement] of Object.entries(torch)) answer(target, owner, name, replacement);
}

/** Adds properties for torch's methods that change a tensor, such as `add_`, to the prototype of tensors. */
export function answerInPlace(target: object, owner: string): void {
  for (const name of publicNames(target)) {
    answer(target, owner, `${snakeCase(name)}_`, `Operations return new tensors: write x = x.${name}(…).`);
  }
}

/** Advice of the error for a torch name: a sentence is printed unchanged, code becomes "Use …". */
export function advice(replacement: string): string {
  return replacement.endsWith('.') ? replacement : `Use ${replacement}.`;
}

function answer(target: object, owner: string, name: string, replacement: string): void {
  if (name in target) return;
  Object.defineProperty(target, name, {
    configurable: true,
    enumerable: false,
    get(this: object): never {
      throw new ArgumentError(
        `${owner}.${name}: expected a name of ringrun, got one of PyTorch. ${advice(replacement)}`,
      );
    },
    // A subclass may have a property with this name.
    set(this: object, value: unknown) {
      Object.defineProperty(this, name, { configurable: true, enumerable: true, writable: true, value });
    },
  });
}

/** Property names of an object and its prototypes, except those of Object. */
function publicNames(target: object): Set<string> {
  const names = new Set<string>();
  for (
    let level: object | null = target;
    level !== null && level !== Object.prototype;
    level = Object.getPrototypeOf(level) as object | null
  ) {
    for (const name of Object.getOwnPropertyNames(level)) names.add(name);
  }
  names.delete('constructor');
  return names;
}
