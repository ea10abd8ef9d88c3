/** A network as JSON, which test/golden/random_networks.py builds from PyTorch's modules. */
export interface Network {
  /** Of the initial parameters. */
  readonly seed: number;
  readonly training: boolean;
  readonly input: Argument;
  readonly steps: readonly Step[];
  readonly loss: Call;
}

export type Step = Call | Branches | Checkpointed;

/** A module, a method of the tensor, or a function of F, called with the tensor. torch's names are in snake_case. */
export interface Call {
  readonly kind: 'module' | 'method' | 'function';
  readonly name: string;
  readonly args: readonly Argument[];
  readonly options?: Options;
  /** How many times the tensor is passed, such as the query, key and value of attention. Default: 1. */
  readonly times?: number;
  /** Names that torch spells differently. */
  readonly torch?: {
    readonly name?: string;
    readonly args?: readonly Argument[];
    readonly options?: Options;
  };
}

/** The results of several paths from one tensor, joined. An empty path is the tensor. */
export interface Branches {
  readonly kind: 'branches';
  readonly join: 'add' | 'mul' | 'cat';
  readonly paths: readonly (readonly Step[])[];
}

/** Steps that are computed again in the backward pass. */
export interface Checkpointed {
  readonly kind: 'checkpoint';
  readonly steps: readonly Step[];
}

export type Options = Readonly<Record<string, Argument>>;
export type Argument = number | string | boolean | null | readonly Argument[] | Filled;

/** A tensor of the numbers of `fill`: unchanged, made positive, or as integers below a limit. */
export interface Filled {
  readonly shape: readonly number[];
  readonly seed: number;
  readonly as: 'numbers' | 'mask' | 'fractions' | { readonly below: number };
}

export const numbers = (shape: readonly number[], seed = 3): Filled => ({ shape, seed, as: 'numbers' });
export const mask = (shape: readonly number[], seed = 4): Filled => ({ shape, seed, as: 'mask' });
/** Numbers in [0, 1). */
export const fractions = (shape: readonly number[], seed = 6): Filled => ({ shape, seed, as: 'fractions' });
export const integers = (shape: readonly number[], below: number, seed = 5): Filled => ({
  shape,
  seed,
  as: { below },
});

export const made = (name: string, args: readonly Argument[] = [], options?: Options): Call => ({
  kind: 'module',
  name,
  args,
  ...(options && { options }),
});

/** A method of the tensor. `torch`: its arguments there, if they differ. */
export const method = (name: string, args: readonly Argument[] = [], torch?: Call['torch']): Call => ({
  kind: 'method',
  name,
  args,
  ...(torch && { torch }),
});

export const called = (name: string, args: readonly Argument[] = [], options?: Options): Call => ({
  kind: 'function',
  name,
  args,
  ...(options && { options }),
});

/** The names of the calls, for messages. */
export function describeSteps(steps: readonly Step[]): string {
  return steps
    .map((step) => {
      if (step.kind === 'checkpoint') return `checkpoint(${describeSteps(step.steps)})`;
      if (step.kind !== 'branches') return step.name;
      return `${step.join}(${step.paths.map((path) => describeSteps(path) || 'x').join(' | ')})`;
    })
    .join(', ');
}
