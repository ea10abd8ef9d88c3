/**
 * What each worker runs, as the command line names it, and with which arguments.
 *
 * `script`: a file that Node runs; `module` (-m): the entry of a package, found from the current folder as `import` finds it;
 * `program` (--no-node): any program, found as a shell finds it.
 */
export interface Program {
  readonly kind: 'script' | 'module' | 'program';
  readonly name: string;
  readonly arguments: readonly string[];
}
