import type { DistributedModule, DistributedTensor } from 'ringrun';
import { Parameter } from '../parameter.ts';

/**
 * A part of a network (torch.nn.Module): its parameters and its parts are its properties, and `forward`, which every subclass
 * writes, says how it computes.
 */
export abstract class Module implements DistributedModule {
  /** Every parameter of this module and its parts, named by the path of properties: `conv1.weight`. A parameter that is used twice is listed once. */
  *namedParameters(
    prefix = '',
    seen = new Set<Parameter>(),
  ): Generator<[name: string, parameter: Parameter]> {
    for (const [name, property] of Object.entries(this) as [string, unknown][]) {
      if (property instanceof Parameter && !seen.has(property)) {
        seen.add(property);
        property.listedAs(prefix + name);
        yield [prefix + name, property];
      } else if (property instanceof Module) {
        yield* property.namedParameters(`${prefix}${name}.`, seen);
      }
    }
  }

  /** The parameters alone, as optimizers take them. */
  *parameters(): Generator<Parameter> {
    for (const [, parameter] of this.namedParameters()) yield parameter;
  }

  /** State that is not trained. None of the modules here has any. */
  *namedBuffers(): Generator<[name: string, buffer: DistributedTensor]> {
    // Nothing to yield.
  }

  /** Forgets all gradients. */
  zeroGrad(): void {
    for (const parameter of this.parameters()) parameter.zeroGrad();
  }
}
