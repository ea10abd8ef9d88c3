import type { Signature } from './signature.ts';
import type { Signatures } from './signatures.ts';

/**
 * The arguments of a function or a constructor of torch in every form that Python has: by position in torch's order, by name in
 * an object, or both, as in `F.conv2d(x, weight, bias, 1, { padding: 1 })`. null stands for the default, like None.
 *
 * @typeParam Usual the arguments as ringrun's pages write them; options are the last one
 * @typeParam Name the function's entry in the table of signatures
 */
export type Call<Usual extends readonly unknown[], Name extends keyof Signatures> =
  Usual | Forms<Named<Usual, Signatures[Name]>, [...Signatures[Name][0], ...Signatures[Name][1]]>;

/** The arguments as `arranged` returns them: the options are always an object. */
export type Arranged<Usual extends readonly unknown[], S extends Signature> =
  HasOptions<Usual, S> extends true
    ? [...Heads<Usual, S[0]>, NonNullable<Usual[S[0]['length']]>]
    : Heads<Usual, S[0]>;

type HasOptions<
  Usual extends readonly unknown[],
  S extends Signature,
> = `${S[0]['length']}` extends keyof Usual ? true : false;

type Heads<Usual extends readonly unknown[], Names extends readonly string[]> = {
  [Place in keyof Names]: Place extends keyof Usual ? Usual[Place] : never;
};

type Places<S extends Signature> = Exclude<keyof S[0], keyof []>;

/** All arguments under their names. */
type Named<Usual extends readonly unknown[], S extends Signature> = {
  [Place in Places<S> as S[0][Place] extends `${string}?` ? never : S[0][Place] & string]: Usual[Place &
    keyof Usual];
} & {
  [Place in Places<S> as S[0][Place] extends `${infer Name}?` ? Name : never]?: Usual[Place & keyof Usual];
} & (HasOptions<Usual, S> extends true ? NonNullable<Usual[S[0]['length']]> : unknown) &
  ('inplace!' extends S[1][number] ? { inplace?: boolean } : unknown);

/** A form for each number of arguments by position; the others are in an object. */
type Forms<All, Names extends readonly string[]> = Names extends readonly [
  infer First extends string,
  ...infer Rest extends readonly string[],
]
  ? End<All> | [first: ValueOf<All, First>, ...Forms<Omit<All, Bare<First>>, Rest>]
  : End<All>;

/** The end of the arguments by position: an object, which is optional if all others have defaults. */
type End<All> = Partial<All> extends All ? [options?: OrNull<All>] : [options: OrNull<All>];

type OrNull<All> = { [Name in keyof All]: undefined extends All[Name] ? All[Name] | null : All[Name] };

type ValueOf<All, Name extends string> = Name extends 'inplace!'
  ? boolean | null | undefined
  : Name extends `${string}!`
    ? null | undefined
    : Name extends `${infer Optional}?`
      ? (Optional extends keyof All ? All[Optional] : never) | null | undefined
      : Name extends keyof All
        ? All[Name]
        : never;

type Bare<Name extends string> = Name extends `${infer Stem}${'?' | '!'}` ? Stem : Name;
