import { manualSeed, nn, type Tensor } from '../../src/index.ts';
import { run, tensorOf, type UseModule } from './build.ts';
import type { Filled, Network, Step } from './network.ts';

/** A network as a module, which `exportOnnx` accepts, in evaluation mode. */
export class NetworkModule extends nn.Module {
  readonly parts: nn.ModuleList;
  readonly #steps: readonly Step[];

  constructor({ seed, input, steps }: Network) {
    super();
    manualSeed(seed);
    const made: ReturnType<UseModule>[] = [];
    run(steps, tensorOf(input as Filled), (make) => {
      made.push(make());
      return made.at(-1)!;
    });
    this.parts = new nn.ModuleList(made);
    this.#steps = steps;
    this.eval();
  }

  forward(x: Tensor): Tensor {
    let next = 0;
    const parts = [...this.parts] as ReturnType<UseModule>[];
    return run(this.#steps, x, () => parts[next++]);
  }
}
