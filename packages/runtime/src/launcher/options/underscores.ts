import type { Command } from 'commander';

/**
 * The arguments with underscores in options' names replaced: torchrun takes --nproc_per_node as well as --nproc-per-node. Values, the script and what
 * follows it stay as they are.
 *
 * @param see Called with each option's name.
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
