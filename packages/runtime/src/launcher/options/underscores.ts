import type { Command } from 'commander';

/**
 * Replaces underscores in option names: torchrun accepts --nproc_per_node as well as --nproc-per-node. Does not change
 * values, the script and its arguments.
 *
 * @param see Called with the name of each option.
 */
export function withDashes(
  argv: readonly string[],
  command: Command,
  see: (option: string) => void = () => undefined,
): string[] {
  const dashed = [...argv];
  for (let i = 0; i < dashed.length && dashed[i].startsWith('-') && dashed[i] !== '--'; i++) {
    const [name, ...value] = dashed[i].split('=');
    const option = name.replaceAll('_', '-');
    see(option);
    dashed[i] = [option, ...value].join('=');
    const takesNext =
      value.length === 0 &&
      command.options.some((known) => known.required && [known.short, known.long].includes(option));
    if (takesNext) i++;
  }
  return dashed;
}
