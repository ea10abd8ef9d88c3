import { BufferTensor } from '../tensor/buffer-tensor.ts';
import { Parameter } from '../tensor/parameter.ts';
import { attributesOf } from './attributes.ts';

/** The part of a module that its keys depend on. */
interface Keyed {
  namedParameters(): Iterable<readonly [key: string, parameter: Parameter]>;
  namedBuffers(): Iterable<readonly [key: string, buffer: BufferTensor]>;
}

/**
 * Additional keys of tensors that a module has under several paths, such as a tied weight, mapped to the key in the state dict.
 * torch stores such a tensor under every key.
 */
export function tiedKeys<Module extends Keyed>(
  root: Module,
  isModule: (property: unknown) => property is Module,
): Map<string, string> {
  const first = new Map<object, string>();
  const tied = new Map<string, string>();
  const visit = (module: Module, prefix: string, ancestors: readonly Module[]) => {
    if (ancestors.includes(module)) return;
    for (const [name, property] of attributesOf(module)) {
      const key = prefix + name;
      if (property instanceof Parameter || property instanceof BufferTensor) {
        const main = first.get(property);
        if (main === undefined) first.set(property, key);
        else tied.set(key, main);
      } else if (isModule(property)) visit(property, `${key}.`, [...ancestors, module]);
    }
  };
  // The order of namedParameters: a module's own tensors before those of its submodules.
  for (const [key, tensor] of [...root.namedParameters(), ...root.namedBuffers()]) first.set(tensor, key);
  visit(root, '', []);
  for (const [key, main] of tied) if (key === main) tied.delete(key);
  return tied;
}
