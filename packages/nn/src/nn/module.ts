import type { DistributedModule, DistributedTensor } from 'ringrun';
import { Parameter } from '../parameter.ts';
import {
  loadTensors,
  saveTensors,
  tensorsByKey,
  type IncompatibleKeys,
  type ModuleStateDict,
  type StoredTensors,
} from './state-dict.ts';

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

  /**
   * A copy of all parameters and buffers (torch.nn.Module.state_dict), by torch's keys: paths of properties, from camelCase to snake_case
   * (`bn1.runningMean` is `bn1.running_mean`). A parameter that is used twice is there once, under its first path.
   */
  stateDict(): ModuleStateDict {
    return saveTensors(tensorsByKey(this.namedParameters(), this.namedBuffers()));
  }

  /**
   * Copies what `stateDict` gave into parameters and buffers (torch.nn.Module.load_state_dict).
   *
   * @param state a Map or a record of `{ shape, data }` by key
   * @param options strict (true unless given): every key must be there, and no other. Else keys that are not on both sides are left alone.
   * @returns the keys that only one side has
   * @throws ArgumentError that lists missing and unexpected keys and shapes that differ; nothing is changed then
   */
  loadStateDict(state: StoredTensors, { strict = true }: { strict?: boolean } = {}): IncompatibleKeys {
    return loadTensors(tensorsByKey(this.namedParameters(), this.namedBuffers()), state, strict);
  }

  /** Forgets all gradients. */
  zeroGrad(): void {
    for (const parameter of this.parameters()) parameter.zeroGrad();
  }
}
