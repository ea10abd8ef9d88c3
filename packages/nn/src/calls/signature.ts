/**
 * Names of arguments: those before the options, those of the options in torch's order, and options that have no position. A
 * name ends with `?` if the argument has a default, and with `!` if only its default is accepted.
 */
export type Signature = readonly [
  usual: readonly string[],
  options: readonly string[],
  withoutPosition?: readonly string[],
];
