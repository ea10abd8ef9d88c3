/** A source file, and the modules that it imports, types included. */
export interface SourceFile {
  /** Relative to the root of the repository: `packages/nn/src/index.ts`. */
  readonly path: string;
  /** As written: `./tensor.ts`, `@ringrun/core`, `node:fs`. */
  readonly imports: readonly string[];
}

/** A package of the workspace. */
export interface WorkspacePackage {
  readonly name: string;
  /** `packages/nn` */
  readonly folder: string;
  /** Source file of each of its entry points, by specifier: `ringrun/typescript` → `packages/runtime/src/typescript.ts`. */
  readonly faces: ReadonlyMap<string, string>;
  /** Packages that it declares to need: dependencies and peers, without those for development. */
  readonly declared: readonly string[];
  /** Its TypeScript files without its tests. */
  readonly files: readonly SourceFile[];
}
