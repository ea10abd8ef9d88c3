import { noGrad, tensor, type Tensor } from '../../src/index.ts';
import { sizeOf } from '../../src/value-type.ts';
import { fill } from '../support/fill.ts';
import { run } from './build.ts';
import { losses } from './losses.ts';
import { modules, tokens } from './modules.ts';
import { describeSteps, integers, numbers, type Filled, type Network, type Step } from './network.ts';
import { operations } from './operations.ts';
import { Random } from './random.ts';
import type { Draw } from './windows.ts';

/** Every network uses the next of these, so that a few hundred networks use all of them. */
const table: readonly (readonly [name: string, draw: Draw])[] = [
  ...Object.entries(modules),
  ...Object.entries(operations),
];

/** Elements of a value, and of an input. */
const most = { elements: 3000, input: 300 };

/** The network of a number: its seed, and the index of a call that it must contain. */
export function generate(number: number): Network {
  const random = new Random(number);
  const [wanted, draw] = table[number % table.length];
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const training = random.chance(0.7);
    const { input, first } = randomInput(random, wanted.startsWith('Embedding') ? draw : undefined);
    const path = new Path(random, input, training, first);
    const place = random.int(0, 3);
    const length = place + random.int(1, 3);
    let hasWanted = path.steps.some((step) => 'name' in step && step.name === wanted);
    for (let i = 0; i < length || (!hasWanted && i < length + 6); i += 1) {
      if (!hasWanted && i >= place && path.tryDraw(draw)) hasWanted = true;
      else if (random.chance(0.15)) path.addBranches();
      else path.addAny();
    }
    if (hasWanted) return { seed: number, training, input, steps: path.steps, loss: path.loss() };
  }
  throw new Error(`network ${number}: no input fits ${wanted}. Mend its entry.`);
}

function randomInput(random: Random, embedding?: Draw): { input: Filled; first: readonly Step[] } {
  const sizes = () => random.int(1, 7);
  if (embedding || random.chance(0.1)) {
    const shape = [random.int(2, 4), random.int(1, 6)];
    const call = (embedding ?? modules.Embedding)(random, shape, 'int64')!;
    return { input: integers(shape, tokens), first: [call].flat() };
  }
  for (;;) {
    const shape = [random.int(1, 5), random.pick([1, 2, 3, 4, 6]), sizes(), sizes(), sizes()].slice(
      0,
      random.int(2, 5),
    );
    if (sizeOf(shape) <= most.input) return { input: numbers(shape, random.int(0, 30)), first: [] };
  }
}

/** Calls one after another, and the shape of their result. */
class Path {
  readonly steps: Step[];
  readonly #random: Random;
  readonly #training: boolean;
  #value: Tensor;

  constructor(random: Random, input: Filled, training: boolean, first: readonly Step[]) {
    this.#random = random;
    this.#training = training;
    this.steps = [...first];
    const { shape, as } = input;
    const given =
      as === 'numbers' ? tensor(fill(shape, 0), shape) : tensor(new BigInt64Array(sizeOf(shape)), shape);
    this.#value = this.#after(first, given);
  }

  /** Adds a call if it fits. */
  tryDraw(draw: Draw): boolean {
    const { shape, dtype } = this.#value;
    const drawn = draw(this.#random, shape, dtype);
    return drawn !== undefined && this.#add([drawn].flat());
  }

  addAny(): void {
    for (const [, draw] of this.#random.shuffled(table).slice(0, 20)) if (this.tryDraw(draw)) return;
  }

  /** Adds, multiplies or concatenates the tensor with its image under calls that keep its shape. */
  addBranches(): void {
    const { shape, dtype } = this.#value;
    const paths: Step[][] = [[]];
    for (const [, draw] of this.#random.shuffled(table).slice(0, 30)) {
      const drawn = [draw(this.#random, shape, dtype) ?? []].flat();
      if (drawn.length === 0 || this.#after(drawn).shape.join() !== shape.join()) continue;
      paths.push(drawn);
      if (paths.length === 3) break;
    }
    const join = this.#random.pick(['add', 'mul', 'cat'] as const);
    if (paths.length > 1) this.#add([{ kind: 'branches', join, paths }]);
  }

  loss(): Network['loss'] {
    for (const draw of this.#random.shuffled(Object.values(losses))) {
      const loss = draw(this.#random, this.#value.shape);
      if (loss) return loss;
    }
    throw new Error('no loss');
  }

  #add(steps: readonly Step[]): boolean {
    const value = this.#after(steps);
    const isUsable = value.dtype === 'float32' && value.shape.length > 0 && value.shape.length < 6;
    if (!isUsable || sizeOf(value.shape) > most.elements || sizeOf(value.shape) === 0) return false;
    this.steps.push(...steps);
    this.#value = value;
    return true;
  }

  /** The result, of which only the shape is used. */
  #after(steps: readonly Step[], value = this.#value): Tensor {
    try {
      return noGrad(() => run(steps, value, (make) => make().train(this.#training)));
    } catch (cause) {
      const where = `${describeSteps(steps)} ${JSON.stringify(steps)} of [${value.shape.join()}]`;
      throw new Error(`${where}: ${String(cause)}`, { cause });
    }
  }
}
