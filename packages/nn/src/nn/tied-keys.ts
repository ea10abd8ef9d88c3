import { BufferTensor } from '../buffer-tensor.ts';
import { Parameter } from '../parameter.ts';
import { attributesOf } from './attributes.ts';
import { Module } from './module.ts';

/**
 * Further keys of tensors that a module has under several paths, such as a tied weight, each with the key in the state dict.
 * torch stores such a tensor under every key.
 */
export function tiedKeys(root: Module): Map<string, string> {
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
      } else if (property instanceof Module) visit(property, `${key}.`, [...ancestors, module]);
    }
  };
  // The order of namedParameters: a module's own tensors before those of its parts.
  for (const [key, tensor] of [...root.namedParameters(), ...root.namedBuffers()]) first.set(tensor, key);
  visit(root, '', []);
  for (const [key, main] of tied) if (key === main) tied.delete(key);
  return tied;
}
