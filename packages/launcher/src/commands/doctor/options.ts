import { Command, Option } from 'commander';
import { newCommand } from '../../options/new-command.ts';
import { integerIn } from '../../options/values.ts';

export interface DoctorOptions {
  /** Host on which rank 0 serves the store. Undefined: not set, so only this machine is checked. */
  master: string | undefined;
  port: number;
  /**
   * The doctor of node 0 serves the store, the others connect. Undefined: the doctor on the master's address serves it.
   */
  nodeRank: number | undefined;
  /** Number of nodes of the job. Undefined if the environment does not set it. */
  nodes: number | undefined;
  /** Milliseconds: the limit of each check, and of the wait for a name, a port and a second doctor. */
  timeoutMs: number;
  json: boolean;
  /** --backend of the job: with nccl, GPUs and their libraries are required. Undefined: not set. */
  backend: (typeof backends)[number] | undefined;
  /** --secret-file. */
  secretFile: string | undefined;
}

const backends = ['gloo', 'cpu', 'nccl'] as const;

interface ParsedOptions {
  backend?: (typeof backends)[number];
  masterAddr?: string;
  masterPort: number;
  nodeRank?: number;
  timeout: number;
  json: boolean;
  secretFile?: string;
}

const help = `
Examples:
  ringrun doctor                                  check this machine
  ringrun doctor --master-addr train-master-0     also check the network path to the master. To measure the link, run the
                                                  same command on two nodes at the same time, one of them the master
  ringrun doctor --backend nccl                   also require GPUs, and the libraries that compute and communicate on them

In a pod, the master is read from the variables that the operator sets.
Exit code: 1 if a check reports a problem, otherwise 0. Warnings do not change the exit code.`;

const highestPort = 65535;
const longestTimeoutSeconds = 3600;

/**
 * Parses the arguments of `ringrun doctor`. Missing ones are read from the environment: MASTER_ADDR and MASTER_PORT,
 * then PET_*, as operators set them.
 *
 * @throws CommanderError after printing the help (`exitCode` 0) or the mistake (`exitCode` 1).
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
    nodes: maxNodes(env['PET_NNODES']),
    timeoutMs: options.timeout * 1000,
    json: options.json,
    backend: options.backend,
    secretFile: options.secretFile,
  };
}

function doctorCommand(): Command {
  return newCommand('ringrun doctor')
    .description(
      'Checks this machine and its network for problems that would stop a training job, and prints the fixes.',
    )
    .option('--master-addr <host>', 'host of rank 0 (default: MASTER_ADDR or PET_MASTER_ADDR)')
    .addOption(
      new Option('--master-port <port>', "port of rank 0's store")
        .default(29500)
        .argParser((text) => integerIn(text, 1, highestPort, `a port from 1 to ${highestPort}`)),
    )
    .addOption(
      new Option(
        '--node-rank <n>',
        'node 0 serves the store, other nodes connect (default: 0 on the host with the master address)',
      ).argParser((text) => integerIn(text, 0, Number.MAX_SAFE_INTEGER, 'the rank of a node, from 0')),
    )
    .addOption(
      new Option('--timeout <seconds>', 'limit of each check, and of the wait for another node')
        .default(30)
        .argParser((text) =>
          integerIn(text, 1, longestTimeoutSeconds, `whole seconds from 1 to ${longestTimeoutSeconds}`),
        ),
    )
    .addOption(
      new Option(
        '--backend <name>',
        'backend of the job: with nccl, a missing GPU or library is a problem',
      ).choices(backends),
    )
    .option('--secret-file <path>', 'file with the secret of the job (default: RINGRUN_SECRET)')
    .option('--json', 'print all findings as one JSON object', false)
    .addHelpText('after', help);
}

/** An elastic PyTorchJob sets PET_RDZV_ENDPOINT (`host:port` or `host`) instead of a master. */
function endpointOf(env: NodeJS.ProcessEnv): { host: string | undefined; port: number | undefined } {
  const [, host, port] = /^(.+?)(?::(\d+))?$/.exec(given(env['PET_RDZV_ENDPOINT']) ?? '') ?? [];
  return {
    host: given(env['MASTER_ADDR']) ?? given(env['PET_MASTER_ADDR']) ?? host,
    port: [env['MASTER_PORT'], env['PET_MASTER_PORT'], port]
      .map((text) => integer(text, 1))
      .find((value) => value !== undefined),
  };
}

/** 3 for `3` and for `1:3`. */
function maxNodes(text: string | undefined): number | undefined {
  return integer(text?.split(':').at(-1), 1);
}

/**
 * Undefined if the text is not an integer of at least `min`. The launcher refuses such a text; here it is only a
 * default.
 */
function integer(text: string | undefined, min: number): number | undefined {
  return text !== undefined && /^\d+$/.test(text) && Number(text) >= min ? Number(text) : undefined;
}

function given(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text.trim();
}

/** torchrun accepts --master_addr as well as --master-addr. */
function withDashes(argument: string): string {
  const [name, ...value] = argument.split('=');
  return name.startsWith('--') ? [name.replaceAll('_', '-'), ...value].join('=') : argument;
}
