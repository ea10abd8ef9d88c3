import { optim, tensor, type Parameter } from '../../src/index.ts';
import { tensorOf } from '../../src/tensor/creation.ts';
import { fill } from '../support/fill.ts';
import type { Tensor } from '../../src/index.ts';
import { NoCounterpart } from './given.ts';
import { Float, type Decoded } from './sample.ts';

/** The optimizers of torch's optim_db that ringrun has. */
export const optimizers = [
  'Adadelta',
  'Adagrad',
  'Adam',
  'AdamW',
  'LBFGS',
  'NAdam',
  'RAdam',
  'RMSprop',
  'SGD',
] as const;

const STEPS = 4;

/** Arguments that choose an implementation and change no element. */
const ignored = ['foreach', 'fused', 'capturable', 'differentiable'];

type AnyOptimizer = new (
  parameters: readonly Parameter[],
  options: object,
) => { step(closure?: () => Promise<Tensor>): Promise<unknown>; zeroGrad(): void };

/** The parameters after every step, as test/golden/opinfo.py trains them. */
export async function trainedBy(
  name: string,
  parameters: readonly Parameter[],
  args: Readonly<Record<string, Decoded>>,
): Promise<Tensor[]> {
  const optimizer = new (optim as unknown as Record<string, AnyOptimizer>)[name](parameters, optionsOf(args));
  const closure = async () => {
    optimizer.zeroGrad();
    const loss = parameters
      .map((one, place) =>
        one
          .sub(tensor(fill(one.shape, 7 + place), one.shape))
          .square()
          .sum(),
      )
      .reduce((a, b) => a.add(b));
    await loss.backward();
    return loss;
  };
  const after: Tensor[] = [];
  for (let step = 0; step < STEPS; step += 1) {
    if (name === 'LBFGS') await optimizer.step(closure);
    else {
      await closure();
      await optimizer.step();
    }
    after.push(...parameters.map((one) => tensorOf('float32', one.shape, one.data.slice())));
  }
  return after;
}

function optionsOf(args: Readonly<Record<string, Decoded>>): object {
  return Object.fromEntries(
    Object.entries(args)
      .filter(([name, value]) => !ignored.includes(name) && value !== undefined)
      .map(([name, value]) => [optionOf(name), plain(name, value)]),
  );
}

const optionOf = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

function plain(name: string, value: Decoded): unknown {
  if (value instanceof Float) return value.value;
  if (Array.isArray(value)) return (value as Decoded[]).map((one) => plain(name, one));
  if (typeof value === 'object') throw new NoCounterpart(`\`${name}\` is a number, not a tensor`);
  return value === 'strong_wolfe' ? 'strongWolfe' : value;
}
