import { printableLines } from '@ringrun/core';
import { Command } from 'commander';

/** Characters of a mistake that are shown: the value stands before the reason. */
const maxMistake = { first: 300, last: 700 };

function withoutMiddle(text: string): string {
  const { first, last } = maxMistake;
  return text.length <= first + last ? text : `${text.slice(0, first)}…${text.slice(-last)}`;
}

/** A command of `ringrun` that prints mistakes as `<name>: …` and throws CommanderError instead of exiting. */
export function newCommand(name: string): Command {
  return new Command(name)
    .configureOutput({
      outputError: (text, write) => {
        write(printableLines(withoutMiddle(text.replace(/^error:/, `${name}:`))));
      },
    })
    .showHelpAfterError(`See ${name} --help.`)
    .exitOverride();
}
