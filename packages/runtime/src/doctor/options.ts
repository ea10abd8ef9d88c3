import { Command, InvalidArgumentError, Option } from 'commander';

export interface DoctorOptions {
  /** Where rank 0 hosts the store; undefined: nobody said, and this machine alone is examined. */
  master: string | undefined;
  port: number;
  /** 0 hosts what the second doctor connects to, others connect. Undefined: whoever has the master's address hosts. */
  nodeRank: number | undefined;
  /** Nodes that the job is to have, as far as the environment says. */
  nodes: number | undefined;
  /** Milliseconds that each check may take, and that a name, a port and a second doctor are waited for. */
  timeoutMs: number;
  json: boolean;
}

interface ParsedOptions {
  masterAddr?: string;
  masterPort: number;
  nodeRank?: number;
  timeout: number;
  json: boolean;
}

const help = `
Examples:
  ringrun doctor                                  is this machine ready?
  ringrun doctor --master-addr train-master-0     also: does the way there work? Run the same on another node at the
                                                  same time (on the master's too), and the link between them is measured

In a pod the master is taken from what the operator has set. A script of this name would be doctor.js: no ambiguity.
Exit code 1 when there is a problem, 0 when there is none; warnings change nothing.`;

const highestPort = 65535;
const longestTimeoutSeconds = 3600;

/**
 * Reads the arguments behind `ringrun doctor`; what they leave out, from the environment (MASTER_ADDR, MASTER_PORT, then PET_*, as operators set them).
 *
 * @throws CommanderError after it printed the help, or what is wrong; its `exitCode` is 0 for the first.
 */
export function parseDoctorOptions(argv: readonly string[], env: NodeJS.ProcessEnv): DoctorOptions {
  const command = doctorCommand();
  command.parse(argv.map(withDashes), { from: 'user' });
  const options = command.opts<ParsedOptions>();
  const endpoint = endpointOf(env);
  return {
    master: options.masterAddr ?? endpoint.host,
    port:
      command.getOptionValueSource('masterPort') === 'cli'
        ? options.masterPort
        : (endpoint.port ?? options.masterPort),
    nodeRank: options.nodeRank ?? integer(env['PET_NODE_RANK'], 0),
    nodes: mostNodes(env['PET_NNODES']),
    timeoutMs: options.timeout * 1000,
    json: options.json,
  };
}

function doctorCommand(): Command {
  return new Command('ringrun doctor')
    .description('Looks for what would keep a training from working, and says how to mend it.')
    .option('--master-addr <host>', 'where rank 0 is (default: what the environment says)')
    .addOption(
      new Option('--master-port <port>', 'of the store there')
        .default(29500)
        .argParser((text) => parseInteger(text, 1, highestPort, `a port from 1 to ${highestPort}`)),
    )
    .addOption(
      new Option(
        '--node-rank <n>',
        '0 hosts, others connect (default: whoever has the address hosts)',
      ).argParser((text) => parseInteger(text, 0, Number.MAX_SAFE_INTEGER, 'the rank of a node, from 0')),
    )
    .addOption(
      new Option('--timeout <seconds>', 'that each check may take, and that others are waited for')
        .default(30)
        .argParser((text) =>
          parseInteger(text, 1, longestTimeoutSeconds, `whole seconds from 1 to ${longestTimeoutSeconds}`),
        ),
    )
    .option('--json', 'all findings as one JSON object', false)
    .addHelpText('after', help)
    .configureOutput({
      outputError: (text, write) => {
        write(text.replace(/^error:/, 'ringrun doctor:'));
      },
    })
    .showHelpAfterError('See ringrun doctor --help.')
    .exitOverride();
}

/** The host, and the port where one is given with it: PET_RDZV_ENDPOINT is what an elastic PyTorchJob sets instead of a master. */
function endpointOf(env: NodeJS.ProcessEnv): { host: string | undefined; port: number | undefined } {
  const [, host, port] = /^(.+?)(?::(\d+))?$/.exec(given(env['PET_RDZV_ENDPOINT']) ?? '') ?? [];
  return {
    host: given(env['MASTER_ADDR']) ?? given(env['PET_MASTER_ADDR']) ?? host,
    port: [env['MASTER_PORT'], env['PET_MASTER_PORT'], port]
      .map((text) => integer(text, 1))
      .find((value) => value !== undefined),
  };
}

/** `3`, and of `1:3` the most. */
function mostNodes(text: string | undefined): number | undefined {
  return integer(text?.split(':').at(-1), 1);
}

/** Undefined for what is none: the launcher refuses it by name, here it is only a default. */
function integer(text: string | undefined, least: number): number | undefined {
  return text !== undefined && /^\d+$/.test(text) && Number(text) >= least ? Number(text) : undefined;
}

function given(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text.trim();
}

function parseInteger(text: string, least: number, most: number, expected: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new InvalidArgumentError(`Expected ${expected}.`);
}

/** torchrun takes --master_addr as well as --master-addr. */
function withDashes(argument: string): string {
  const [name, ...value] = argument.split('=');
  return name.startsWith('--') ? [name.replaceAll('_', '-'), ...value].join('=') : argument;
}
