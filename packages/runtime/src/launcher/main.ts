// The command `ringrun`: importing this module runs it with the arguments of the process.
import { CommanderError } from 'commander';
import { LaunchError } from './launch-error.ts';
import { parseCommandLine } from './options.ts';
import { findScript } from './script.ts';

const usageError = 2;

process.exit(await main(process.argv.slice(2)));

async function main(argv: readonly string[]): Promise<number> {
  try {
    const options = parseCommandLine(argv);
    const script = findScript(options.script);
    // Not before something is to be run: it loads the store.
    const { launch } = await import('./launch.ts');
    return await launch(options, script);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageError;
    if (error instanceof LaunchError) {
      process.stderr.write(`ringrun: ${error.message}\n`);
      return error.exitCode;
    }
    throw error;
  }
}
