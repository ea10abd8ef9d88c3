import { createRequire } from 'node:module';
import { Command, Option } from 'commander';
import { newCommand } from './new-command.ts';
import { parseRendezvousConfig } from './rendezvous-config.ts';
import * as values from './values.ts';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const examples = `
Examples:
  ringrun --nproc 2 train.ts --epochs 5       two processes on this machine
  ringrun train.js                            in a pod of a PyTorchJob or TrainJob
  ringrun --nnodes 2 --node-rank 0 --master-addr host0 train.js       on host0,
  ringrun --nnodes 2 --node-rank 1 --master-addr host0 train.js       on the other
  ringrun --nnodes 1:3 --rdzv-backend c10d --rdzv-endpoint host0 --max-restarts 9 train.js
  ringrun --no-node --nproc 2 python3 train.py
  ringrun doctor --help                       check this machine for problems that stop training, and print fixes
  ringrun top                                 show loss, rate and waiting of each rank of a running job
  ringrun stacks <pid>                        print the operation and stack of each rank of a running job
  ringrun plan --help                         predict the time of a step on slow or long links
  ringrun deploy --help                       write Kubernetes manifests and a Dockerfile for a script
  ringrun build-native                        compile the native addon, if no prebuilt binary fits

Arguments after the script are passed to the script. Option names accept underscores instead of dashes.
Each option can also be set as PET_<NAME> (such as PET_NNODES); the command line takes precedence.
Workers receive the same variables as under torchrun: RANK, WORLD_SIZE, LOCAL_RANK, ….
The exit code is that of the first failed process, or 128 + the number of its signal.`;

type Parse = (text: string) => unknown;

/** Options by group: flags, help text and parser. An option without a parser is a switch. */
const groups: Readonly<Record<string, readonly (readonly [flags: string, help: string, parse?: Parse])[]>> = {
  'Program:': [
    [
      '--nproc-per-node <n>',
      'workers on this node: a number, auto, cpu or gpu (default: 1)',
      values.parseProcessCount,
    ],
    // A separate option, not a second flag: commander suggests only long flags for a misspelt option.
    ['--nproc <n>', 'alias of --nproc-per-node', values.parseProcessCount],
    ['-m, --module', "run a package's entry point instead of a script"],
    ['--no-node', 'run any program instead of a Node.js script'],
    ['--no-python', 'alias of --no-node, as torchrun names it'],
    [
      '--name <text>',
      'name of the job on the dashboard (default: the file name of the script)',
      values.parseName,
    ],
    ['--role <name>', 'role of the workers (default: "default")', values.parseText],
    [
      '--numa-binding <how>',
      'bind workers to CPUs: node, socket, exclusive or core-complex (default: no binding)',
      values.parseNumaBinding,
    ],
  ],
  'Nodes:': [
    ['--nnodes <n>', 'number of nodes, or MIN:MAX (default: 1)', values.parseNodes],
    ['--node-rank <rank>', 'rank of this node (default: 0)', values.parseRank],
    ['--master-addr <host>', 'host name or address of node 0 (default: 127.0.0.1)', values.parseHost],
    [
      '--master-port <port>',
      'port on node 0 (default: 29500, or a free port for one node)',
      values.parsePort,
    ],
    [
      '--local-addr <host>',
      'address of this node for the other nodes (default: the one routed to the master)',
      values.parseHost,
    ],
    [
      '--rdzv-backend <name>',
      'static, or c10d if nodes may join and leave (default: static)',
      values.parseBackend,
    ],
    [
      '--rdzv-endpoint <host:port>',
      'address of the store that connects the nodes (default: the master)',
      values.parseHostPort,
    ],
    [
      '--rdzv-id <id>',
      'job id, the same on all nodes, at most 4096 bytes (default: random for one node, "none" for several)',
      values.parseRunId,
    ],
    [
      '--rdzv-conf <k=v,…>',
      'timeouts in seconds (default: join_timeout=600,last_call_timeout=30,…)',
      parseRendezvousConfig,
    ],
    [
      '--secret-file <path>',
      'file with the secret of the job, the same on all nodes (default: RINGRUN_SECRET; for one node, random)',
      values.parseText,
    ],
    ['--encrypt', 'encrypt the connections between nodes (default: RINGRUN_ENCRYPT; off)'],
    [
      '--links <what>',
      'use the links between hosts: measure, or a JSON file of them (default: RINGRUN_LINKS; none)',
      values.parseText,
    ],
    ['--save-links <path>', 'write the measured links to a file on node 0, for --links', values.parseText],
    ['--standalone', 'run on this node alone, even if the environment names several'],
  ],
  'Failures:': [
    ['--max-restarts <n>', 'restarts of the whole job after failures (default: 0)', values.parseRestarts],
    [
      '--monitor-interval <seconds>',
      'time between checks of the other nodes (default: 0.1)',
      values.parseInterval,
    ],
    [
      '--signals-to-handle <names>',
      'more signals that end the job (default: SIGTERM, SIGINT, SIGHUP, SIGQUIT only)',
      values.parseSignals,
    ],
    ['--grace-period <seconds>', 'time from such a signal to SIGKILL (default: 30)', values.parseGracePeriod],
  ],
  'Output (streams: 0 none, 1 stdout, 2 stderr, 3 both; per local rank: 0:1,1:2):': [
    [
      '-r, --redirects <streams>',
      'write streams to files instead of the console (default: 0)',
      values.parseStreams,
    ],
    ['-t, --tee <streams>', 'write streams to files and to the console (default: 0)', values.parseStreams],
    ['--log-dir <folder>', 'parent folder of these files (default: the temporary folder)', values.parseText],
    ['--local-ranks-filter <ranks>', 'local ranks that the console shows (default: all)', values.parseRanks],
    [
      '--dashboard [=host:port]',
      'serve a page with the figures of all ranks, and /metrics (default: off; place: 127.0.0.1:29600)',
      values.parseDashboard,
    ],
  ],
};

/** torchrun's options for Python or for torchrun's internals, each with its replacement. */
const refused: Readonly<Record<string, string>> = {
  '--start-method': 'ringrun always spawns new processes',
  '--run-path': 'pass the path of the script without an option',
  '--use-env': 'ringrun always passes ranks in the environment',
  '--event-log-handler': 'ringrun prints events to stderr',
  '--logs-specs': '--log-dir, --redirects and --tee select where output is written',
  '--virtual-local-rank': 'set CUDA_VISIBLE_DEVICES from LOCAL_RANK in the script',
  '--duplicate-stdout-filters': '--local-ranks-filter selects the ranks that the console shows',
  '--duplicate-stderr-filters': '--local-ranks-filter selects the ranks that the console shows',
};

/**
 * The command `ringrun`. Its options have no default values here, so that the environment can set those that are
 * absent.
 */
export function launchCommand(): Command {
  const command = newCommand('ringrun')
    .description('Runs a training script in several processes that train together, on one or more nodes.')
    .usage('[options] <script> [arguments of the script]')
    .argument('<script>')
    .argument('[arguments...]')
    .passThroughOptions()
    .configureHelp({ visibleArguments: () => [] });
  for (const [heading, options] of Object.entries(groups)) {
    for (const [flags, help, parse] of options) {
      const option = new Option(flags, help).helpGroup(heading);
      if (parse) option.argParser(parse);
      command.addOption(option);
    }
  }
  return command.version(version).addHelpText('after', examples);
}

/** @throws CommanderError after printing the reason, if ringrun does not support this option of torchrun. */
export function refuseForeign(command: Command, option: string): void {
  if (!Object.hasOwn(refused, option)) return;
  command.error(
    `error: ${option} is an option of torchrun that ringrun does not support: ${refused[option]}. Remove it.`,
  );
}
