import { invalidateRecordedCalls } from '@ringrun/core';
import { describeValue } from '../checks/describe-value.ts';
import { ArgumentError } from '../errors/errors.ts';
import { replaceAttribute } from './attributes.ts';

/** The part of a module that its paths depend on. */
interface Parent {
  namedChildren(): readonly (readonly [name: string, child: Parent])[];
}

/** The submodule at a path such as `layer1.0.conv1`; the root at ''. */
export function submoduleAt<Module extends Parent>(root: Module, target: string): Module {
  let found: Parent | undefined = root;
  for (const name of target === '' ? [] : target.split('.'))
    found = found?.namedChildren().find(([one]) => one === name)?.[1];
  if (found) return found as Module;
  throw new ArgumentError(
    `${root.constructor.name}: expected the path of a submodule, got '${target}'. namedModules() lists them.`,
  );
}

/** Replaces or adds the submodule at a path. */
export function replaceSubmodule(
  root: Parent,
  target: string,
  module: unknown,
  isModule: (value: unknown) => boolean,
): void {
  const end = target.lastIndexOf('.');
  const owner = submoduleAt(root, target.slice(0, Math.max(end, 0)));
  if (!isModule(module) || target === '') {
    throw new ArgumentError(
      `${root.constructor.name}.setSubmodule: expected a path and a Module, got '${target}' and ${describeValue(module)}.`,
    );
  }
  replaceAttribute(owner, target.slice(end + 1), module);
  invalidateRecordedCalls();
}
