import { Command } from 'commander';

/** A command of `ringrun` that prints mistakes as `<name>: …` and throws CommanderError instead of exiting. */
export function newCommand(name: string): Command {
  return new Command(name)
    .configureOutput({
      outputError: (text, write) => {
        write(text.replace(/^error:/, `${name}:`));
      },
    })
    .showHelpAfterError(`See ${name} --help.`)
    .exitOverride();
}
