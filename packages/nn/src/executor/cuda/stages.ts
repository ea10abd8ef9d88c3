import type { Boundary, Section } from './lowered-program.ts';

/** Sections that run without the host in between. */
export interface Stage<Command> {
  readonly commands: readonly Command[];
  /** True if the host checks the cells of refusals after the stage. */
  readonly isChecked: boolean;
  /** What the host does after the stage. Undefined: nothing. */
  readonly boundary: Boundary | undefined;
}

/**
 * Divides a program where the host takes part: at the boundaries that `isOfHost` selects, and where values of the user may have been
 * refused since the last check. A run with refused values must neither communicate nor update.
 *
 * @param commandsAt the commands of a boundary inside a stage
 */
export function stagesOf<Command>(
  sections: readonly Section<Command>[],
  isOfHost: (boundary: Boundary) => boolean,
  commandsAt: (boundary: Boundary) => readonly Command[],
): readonly Stage<Command>[] {
  const stages: Stage<Command>[] = [];
  let commands: Command[] = [];
  let checked = 0;
  for (const { commands: own, refusals, boundary } of sections) {
    commands.push(...own);
    const isChecked = refusals > checked;
    const ofHost = boundary !== undefined && isOfHost(boundary);
    if (boundary === undefined || ofHost || isChecked) {
      stages.push({ commands, isChecked, boundary: ofHost ? boundary : undefined });
      commands = [];
    }
    if (boundary !== undefined && !ofHost) commands.push(...commandsAt(boundary));
    checked = refusals;
  }
  return stages;
}
