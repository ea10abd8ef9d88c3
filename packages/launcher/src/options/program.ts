/**
 * The program that each worker runs, as named on the command line, and its arguments.
 *
 * `script`: a file that Node.js runs. `module` (-m): the entry point of a package, resolved from the current folder as
 * `import` does. `program` (--no-node): any program, searched in PATH.
 */
export interface Program {
  readonly kind: 'script' | 'module' | 'program';
  readonly name: string;
  readonly arguments: readonly string[];
}
